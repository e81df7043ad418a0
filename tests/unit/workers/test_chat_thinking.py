"""Reasoning in the content of a Chat Completions answer: told as reasoning where the answer begins with its tag."""

import pytest

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import DONE, chunk, make_job
from workers.backends.chat_completions.stream import ChatStream
from workers.backends.parts import CallDelta, Part, ReasoningDelta, TextDelta
from workers.backends.registry import adapter_of

CALL: Json = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}


def read(*deltas: Json, finish: str = "stop", begins_thinking: bool = False) -> list[Part]:
    raw = b"".join(chunk(delta) for delta in deltas) + chunk(finish=finish) + DONE
    stream = ChatStream(begins_thinking=begins_thinking)
    return [*stream.feed(raw), *stream.close()]


def told(parts: list[Part]) -> tuple[str, str]:
    """The reasoning and the text."""
    thought = "".join(part.text for part in parts if isinstance(part, ReasoningDelta))
    return thought, "".join(part.text for part in parts if isinstance(part, TextDelta))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<think>Hm.</think>Yes", ("Hm.", "Yes")),
        (
            "\n <think>\nHm.\n</think>\n\nYes, I <think> so.</think>",
            ("\nHm.\n", "Yes, I <think> so.</think>"),
        ),
        ("<think></think>Yes", ("", "Yes")),
        ("<think>a < b </thin</think>Yes", ("a < b </thin", "Yes")),
        ("<think>Never closed", ("Never closed", "")),
        ("<think>Half closed </thi", ("Half closed </thi", "")),
        ("<think>Only thought.</think>\n", ("Only thought.", "")),
        ("The tag <think> opens, </think> closes.", ("", "The tag <think> opens, </think> closes.")),
        ("`<think>` is a tag", ("", "`<think>` is a tag")),
        ("Already thinking.</think>Yes", ("", "Already thinking.</think>Yes")),
        ("<thin", ("", "<thin")),
        ("<thinking>Yes", ("", "<thinking>Yes")),
        ("  \n", ("", "  \n")),
    ],
)
def test_what_is_reasoning_does_not_depend_on_where_the_content_is_cut(
    content: str, expected: tuple[str, str]
) -> None:
    assert told(read({"content": content})) == expected
    assert told(read(*({"content": letter} for letter in content))) == expected
    for at in range(len(content)):
        assert told(read({"content": content[:at]}, {"content": content[at:]})) == expected, f"cut at {at}"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Hm.</think>Yes", ("Hm.", "Yes")),
        ("<think>Hm.</think>\nYes </think>", ("Hm.", "Yes </think>")),
        ("<thinner</think>Yes", ("<thinner", "Yes")),
        ("Never closed </thi", ("Never closed </thi", "")),
        ("<thi", ("<thi", "")),
        ("</think>Yes", ("", "Yes")),
    ],
)
def test_an_answer_may_begin_within_its_reasoning_where_the_backends_row_says_so(
    content: str, expected: tuple[str, str]
) -> None:
    assert told(read({"content": content}, begins_thinking=True)) == expected
    letters = [{"content": letter} for letter in content]
    assert told(read(*letters, begins_thinking=True)) == expected
    job = make_job(thinking_tags="opened")
    stream = adapter_of(BackendSpec.from_plain(job.backend)).open_stream(job)
    raw = chunk({"content": content}) + chunk(finish="stop") + DONE
    assert told([*stream.feed(raw), *stream.close()]) == expected


def test_text_after_it_is_told_as_it_comes() -> None:
    parts = read({"content": "<think>Hm.</think>"}, {"content": "\n\n"}, {"content": "Y"}, {"content": "es"})
    assert [part.text for part in parts if isinstance(part, TextDelta)] == ["Y", "es"]


def test_a_call_ends_what_may_have_become_a_tag() -> None:
    parts = read({"content": "<th"}, {"tool_calls": [CALL]})
    assert [type(part) for part in parts[:2]] == [TextDelta, CallDelta]
    parts = read({"content": "<think>Look.</think>"}, {"tool_calls": [CALL]})
    assert [type(part) for part in parts[:2]] == [ReasoningDelta, CallDelta]


def test_a_server_that_tells_reasoning_by_itself_writes_no_tags() -> None:
    parts = read({"reasoning_content": "Hm."}, {"content": "<think>"}, {"content": "is a tag"})
    assert told(parts) == ("Hm.", "<think>is a tag")


def test_the_probabilities_of_text_that_had_to_wait_come_with_it() -> None:
    def tokens(*texts: str) -> Json:
        return {"content": [{"token": text, "logprob": -1.0} for text in texts]}

    raw = (
        chunk({"content": "<"}, logprobs=tokens("<"))
        + chunk({"content": "b>"}, logprobs=tokens("b", ">"))
        + chunk(finish="stop")
        + DONE
    )
    stream = ChatStream()
    (text, *_) = [*stream.feed(raw), *stream.close()]
    assert isinstance(text, TextDelta)
    assert [entry["token"] for entry in text.logprobs] == ["<", "b", ">"]
