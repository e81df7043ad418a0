"""The context window of a route: what does not fit is refused, or fits once old turns are dropped."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from responses_api.models import Backend, Route
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tests.integration.fixtures import MODEL
from tests.support.chat import chat_error, chat_stream
from tests.support.checks import assert_unknown_to, checked_response, checked_stream
from tests.support.client import Answer, Client
from tests.support.upstream import ScriptedUpstream

FIELD = "antiphon:truncation"
WORDS = " ".join(["hello"] * 100)
"""A hundred tokens, and 104 as a message."""

OVERFLOW = chat_error("This model's maximum context length is 10 tokens.", code="context_length_exceeded")

SetWindow = Callable[..., None]


@pytest.fixture
def window(backend: Backend) -> SetWindow:
    """Sets the window of the route, and who counts."""

    def set_window(tokens: int | None, counting: str = "local") -> None:
        Route.objects.update(context_window=tokens)
        Backend.objects.update(token_counting=counting)
        routing.read_models()

    return set_window


def user(text: str = WORDS) -> Json:
    return {"role": "user", "content": text}


def assistant(text: str = WORDS) -> Json:
    return {"role": "assistant", "content": text}


CONVERSATION = [user(), assistant(), user(), assistant(), user("last")]
"""Two turns of 208 tokens each, and one of 5; 3 more begin the answer."""


def sent(upstream: ScriptedUpstream, nth: int = -1) -> list[tuple[str, str]]:
    """The roles and the first words of the messages that the upstream was asked with."""
    messages = upstream.requests()[nth].body["messages"]
    return [(message["role"], (message["content"] or "").split(" ")[0]) for message in messages]


def assert_refused(answer: Answer, *numbers: int) -> None:
    assert answer.status == 400, answer.body
    error = answer.error
    assert (error["type"], error["code"], error["param"]) == (
        "invalid_request",
        "context_length_exceeded",
        "input",
    )
    for number in numbers:
        assert f" {number} tokens" in error["message"]


def test_an_input_that_does_not_fit_is_refused_before_anything_is_told_or_asked(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(424)
    for answer in (friend.create(input=CONVERSATION), friend.stream(input=CONVERSATION).answer()):
        assert_refused(answer, 424, 424)
    assert upstream.requests() == []
    assert friend.get("/responses").json()["data"] == []


def test_an_input_that_just_fits_is_sent_whole(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(425)
    response = checked_response(friend, friend.create(input=CONVERSATION).json())
    assert FIELD not in response
    assert len(sent(upstream)) == 5


def test_old_turns_are_dropped_until_the_rest_fits_and_the_stream_and_get_say_so(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(320)
    upstream.reply(body=chat_stream("done"))
    exchange = friend.read_stream(
        input=[{"role": "developer", "content": "rule"}, *CONVERSATION],
        truncation="auto",
        instructions="guide",
    )
    response = checked_stream(exchange, friend)
    assert sent(upstream) == [
        ("system", "guide"),
        ("system", "rule"),
        ("user", "hello"),
        ("assistant", "hello"),
        ("user", "last"),
    ]
    told = {"dropped_items": 2, "dropped_turns": 1, "input_tokens": 226, "context_window": 320}
    assert response[FIELD] == told
    assert response["truncation"] == "auto"
    assert exchange.types[:4] == [
        "response.created",
        "response.in_progress",
        FIELD,
        "response.output_item.added",
    ]
    assert exchange.events[2] == {"type": FIELD, "sequence_number": 2, **told}
    assert_unknown_to(stranger, response["id"])


def test_no_more_turns_are_dropped_than_must_be(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    turns = [message for _ in range(20) for message in (user(), assistant())]
    for room, kept in (
        (5 + 3 + 208 * 11, 11),
        (5 + 3 + 208 * 11 - 1, 10),
        (5 + 3 + 208 * 19, 19),
        (5 + 3, 0),
    ):
        window(room + 100)
        upstream.reply(body=chat_stream("done"))
        response = friend.create(
            input=[*turns, user("last")], truncation="auto", max_output_tokens=100
        ).json()
        assert response[FIELD]["dropped_turns"] == 20 - kept, response
        assert response[FIELD]["input_tokens"] <= room
        assert len(sent(upstream)) == 2 * kept + 1


def test_an_input_that_fits_is_not_truncated_nor_counted_by_the_backend(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(100_000, "llama_cpp")
    for wish in ("auto", "disabled"):
        upstream.reply(body=chat_stream("done"))
        assert FIELD not in checked_response(
            friend, friend.create(input=CONVERSATION, truncation=wish).json()
        )
    assert [request.path for request in upstream.requests()] == ["/v1/chat/completions"] * 2


def test_the_chain_stays_whole_and_is_truncated_anew_each_time(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(320)
    previous: str | None = None
    for _ in range(3):
        upstream.reply(body=chat_stream(WORDS))
        response = checked_response(
            friend, friend.create(input=WORDS, previous_response_id=previous, truncation="auto").json()
        )
        previous = response["id"]
    assert response[FIELD]["dropped_turns"] == 2
    window(None)
    upstream.reply(body=chat_stream("done"))
    friend.create(input="last", previous_response_id=previous)
    assert len(sent(upstream)) == 7


def test_a_call_is_never_parted_from_its_output(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": WORDS}
    window(200)
    upstream.reply(body=chat_stream("done"))
    response = friend.create(
        input=[user(), call, output, assistant(), user("last")], truncation="auto"
    ).json()
    assert response[FIELD]["dropped_items"] == 4
    assert sent(upstream) == [("user", "last")]


def test_a_newest_turn_that_does_not_fit_by_itself_is_refused_also_with_auto(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(90)
    assert_refused(friend.create(input=[user("old"), assistant("old"), user()], truncation="auto"), 107, 90)
    assert_refused(friend.create(input=WORDS, truncation="auto"), 107, 90)
    assert upstream.requests() == []


def test_a_newest_turn_that_leaves_little_room_for_its_answer_is_sent_all_the_same(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(108)
    upstream.reply(body=chat_stream("done"))
    response = friend.create(input=[user("old"), user()], truncation="auto", max_output_tokens=50).json()
    assert response[FIELD]["input_tokens"] == 107
    upstream.reply(body=chat_stream("done"))
    assert FIELD not in friend.create(input=WORDS, truncation="auto").json()


def test_the_backends_own_count_decides_where_it_has_one(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(100, "llama_cpp")
    for count in (400, 20, 60):  # all of it, the newest turn alone, and with one before
        upstream.reply("count", body=orjson.dumps({"input_tokens": count}))
    upstream.reply(body=chat_stream("done"))
    response = friend.create(input=CONVERSATION, truncation="auto").json()
    assert response[FIELD] == {
        "dropped_items": 2,
        "dropped_turns": 1,
        "input_tokens": 60,
        "context_window": 100,
    }
    assert len(upstream.requests()) == 4


@pytest.mark.parametrize("is_streamed", [False, True])
def test_where_the_window_is_not_known_turns_are_dropped_until_the_upstream_accepts(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow, is_streamed: bool
) -> None:
    window(None)
    turns = [message for _ in range(8) for message in (user(), assistant())]
    upstream.reply(status=400, body=OVERFLOW)
    upstream.reply(status=400, body=OVERFLOW)
    upstream.reply(body=chat_stream("done"))
    asked: dict[str, Any] = {"input": [*turns, user("last")], "truncation": "auto"}
    if is_streamed:
        response = checked_stream(friend.read_stream(**asked), friend)
    else:
        response = checked_response(friend, friend.create(**asked).json())
    assert [len(sent(upstream, nth)) for nth in range(3)] == [17, 9, 5]
    assert response[FIELD] == {
        "dropped_items": 12,
        "dropped_turns": 6,
        "input_tokens": None,
        "context_window": None,
    }


def test_tries_are_bounded_and_the_last_is_the_newest_turn_alone(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(None)
    upstream.reply(status=400, body=OVERFLOW, always=True)
    turns = [message for _ in range(100) for message in (user("old"), assistant("old"))]
    assert_refused(friend.create(input=[*turns, user("last")], truncation="auto"))
    assert [len(sent(upstream, nth)) for nth in range(5)] == [201, 101, 51, 25, 1]
    assert len(upstream.requests()) == 5
    assert_refused(friend.create(input="single", truncation="auto"))
    assert len(upstream.requests()) == 6


def test_an_upstream_that_still_refuses_what_was_counted_to_fit_gets_less(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(1000)
    upstream.reply(status=400, body=OVERFLOW)
    upstream.reply(body=chat_stream("done"))
    response = checked_response(friend, friend.create(input=CONVERSATION, truncation="auto").json())
    assert response[FIELD] == {
        "dropped_items": 2,
        "dropped_turns": 1,
        "input_tokens": 216,
        "context_window": 1000,
    }


def test_an_overflow_that_comes_inside_the_answer_is_answered_alike_before_anything_was_said(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(None)
    in_stream = b"data: " + OVERFLOW + b"\n\n"
    upstream.reply(body=in_stream)
    upstream.reply(body=chat_stream("done"))
    exchange = friend.read_stream(input=CONVERSATION, truncation="auto")
    assert checked_stream(exchange, friend)[FIELD]["dropped_turns"] == 1
    assert exchange.types[2] == FIELD


def test_no_other_refusal_is_tried_again_and_without_auto_none_is(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(None)
    upstream.reply(status=400, body=chat_error("I do not like it."))
    refused = friend.create(input=CONVERSATION, truncation="auto")
    assert (refused.status, refused.error["code"]) == (400, "upstream_rejected")
    upstream.reply(status=400, body=OVERFLOW)
    assert_refused(friend.create(input=CONVERSATION))
    assert len(upstream.requests()) == 2


def test_a_truncated_response_that_fails_keeps_what_was_dropped(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(320)
    upstream.reply(body=chat_stream("half", finish=None, done=False), end="cut")
    response = checked_stream(friend.read_stream(input=CONVERSATION, truncation="auto"), friend)
    assert response["status"] == "failed"
    assert response[FIELD]["dropped_turns"] == 1


def test_a_response_in_the_background_tells_it_too(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    window(320)
    upstream.reply(body=chat_stream("done"))
    exchange = friend.read_stream(input=CONVERSATION, truncation="auto", background=True)
    response = checked_stream(exchange, friend)
    assert response[FIELD]["dropped_turns"] == 1
    assert FIELD in exchange.types
    assert_unknown_to(stranger, response["id"])


def test_images_count_by_rule_and_not_by_the_length_of_their_address(
    friend: Client, upstream: ScriptedUpstream, window: SetWindow
) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 40_000}
    window(1000)
    upstream.reply(body=chat_stream("done"))
    assert FIELD not in friend.create(input=[{"role": "user", "content": [image]}], truncation="auto").json()
    window(700)
    assert_refused(
        friend.create(input=[{"role": "user", "content": [{**image, "image_url": "https://h/i.png"}]}]), 772
    )


def test_the_refusal_names_the_model_as_the_client_knows_it(friend: Client, window: SetWindow) -> None:
    window(90)
    assert f"'{MODEL}'" in friend.create(input=WORDS).error["message"]
