"""`@ai-sdk/open-responses`, the AI SDK's client of this specification, as an app would use it."""

from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.support import node
from tests.support.chat import chat_error, chat_stream, chunk, frame
from tests.support.service import Service
from tests.support.upstream import ScriptedUpstream

FOLDER = Path(__file__).parent / "ai_sdk"


class Play(Protocol):
    """Runs one scene of the app and returns what it printed."""

    def __call__(self, scene: str) -> Any: ...


@pytest.fixture(scope="module", autouse=True)
def _libraries() -> None:
    node.install(FOLDER)


@pytest.fixture
def play(service: Service, model: str) -> Play:
    """The app, with the friend's key."""
    env = {"BASE_URL": service.base_url, "API_KEY": service.friend.key or "", "MODEL": model}
    return lambda scene: node.run(FOLDER / "app.mjs", scene, env=env)


def test_text(play: Play) -> None:
    answer = play("text")
    assert answer["text"] == "You said: Hello"
    assert answer["finishReason"] == "stop"
    assert answer["usage"]["inputTokens"] > 0
    assert answer["usage"]["outputTokens"] > 0


def test_stream(play: Play) -> None:
    answer = play("stream")
    assert "".join(answer["deltas"]) == "You said: Hello"
    assert len(answer["deltas"]) > 1
    assert answer["errors"] == []
    assert answer["finishReason"] == "stop"


def test_raw_reasoning_is_read_from_the_stream(play: Play, upstream: ScriptedUpstream) -> None:
    thoughts = [frame(chunk({"reasoning_content": piece})) for piece in ("Hm, ", "a greeting.")]
    upstream.reply(body=b"".join([*thoughts, chat_stream("Hi")]))
    answer = play("stream")
    assert "".join(answer["reasoning"]) == "Hm, a greeting."
    assert "".join(answer["deltas"]) == "Hi"


def test_tool_loop(play: Play) -> None:
    assert play("tools") == {"text": "The tool returned: 12 degrees in San Francisco", "steps": 2}


def test_streamed_tool_loop(play: Play) -> None:
    assert play("streamedTools") == {
        "text": "The tool returned: 12 degrees in San Francisco",
        "calls": [{"location": "San Francisco"}],
    }


def test_structured_output(play: Play) -> None:
    assert play("object") == {"object": {"name": "San Francisco", "age": 1.5}}


def test_a_conversation_sent_whole(play: Play, upstream: ScriptedUpstream) -> None:
    assert play("turns") == {"text": "You said: And who am I?"}
    sent = [(message["role"], message["content"]) for message in upstream.requests()[-1].body["messages"]]
    assert sent == [
        ("system", "Be brief."),
        ("user", "My name is Ada."),
        ("assistant", "Hello Ada."),
        ("user", "And who am I?"),
    ]


def test_a_refusal_is_told_with_status_and_words(play: Play) -> None:
    answer = play("refused")
    assert (answer["refused"], answer["status"]) == (True, 404)
    assert "no-such-model" in answer["message"]


def test_a_broken_stream_is_an_error_and_no_completed_answer(play: Play, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream("Half", finish=None, done=False))
    answer = play("stream")
    assert "".join(answer["deltas"]) == "Half"
    assert answer["errors"], "the app was told of it"
    assert answer["finishReason"] != "stop"


def test_an_upstreams_limit_is_an_error_before_anything(play: Play, upstream: ScriptedUpstream) -> None:
    upstream.reply(status=429, body=chat_error("slow down"))
    answer = play("stream")
    assert (answer["deltas"], answer["finishReason"]) == ([], None)
    assert answer["errors"] == ["Too Many Requests"]
