"""What an emitter tells of texts, refusals, reasoning and citations."""

import orjson
import pytest

from responses_api.protocol.plain import Json
from tests.unit.workers.parts import call, text
from tests.unit.workers.told import final, kinds, of_kind, tell
from workers.backends.parts import (
    AnnotationReport,
    Part,
    ReasoningDelta,
    RefusalDelta,
    Stop,
    SummaryDelta,
    TextDelta,
)

MESSAGE_EVENTS = [
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
]


def test_text_is_told_as_one_message_with_one_part() -> None:
    events = tell([text("Grey "), text("heron"), Stop("stop")])
    assert kinds(events) == [
        "created",
        "in_progress",
        *MESSAGE_EVENTS[:3],
        "output_text.delta",
        *MESSAGE_EVENTS[3:],
        "completed",
    ]
    assert final(events)["output"] == [
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "Grey heron", "annotations": [], "logprobs": []},
            ],
        }
    ]


def test_an_item_begins_empty_and_in_progress() -> None:
    events = tell([text("x")])
    added = of_kind(events, "output_item.added")[0]["item"]
    assert (added["status"], added["content"]) == ("in_progress", [])
    part = of_kind(events, "content_part.added")[0]["part"]
    assert part == {"type": "output_text", "text": "", "annotations": [], "logprobs": []}


def test_empty_deltas_open_nothing() -> None:
    events = tell([text(""), RefusalDelta("refusal", ""), ReasoningDelta("r", ""), SummaryDelta("s", "")])
    assert kinds(events) == ["created", "in_progress", "completed"]
    assert final(events)["output"] == []


def test_log_probabilities_are_told_with_their_text_and_kept() -> None:
    logprob = {"token": "a", "logprob": -0.25, "bytes": [97], "top_logprobs": []}
    events = tell([TextDelta("content", "a", (logprob,)), text("b")])
    assert [event["logprobs"] for event in of_kind(events, "output_text.delta")] == [[logprob], []]
    assert of_kind(events, "output_text.done")[0]["logprobs"] == [logprob]
    assert final(events)["output"][0]["content"][0]["logprobs"] == [logprob]


@pytest.mark.parametrize("rest", ["\ude00 end", None])
def test_log_probabilities_of_text_that_is_held_back_are_told_with_it(rest: str | None) -> None:
    logprob = {"token": "a", "logprob": -0.25, "bytes": [97], "top_logprobs": []}
    events = tell([TextDelta("content", "\ud83d", (logprob,)), *([text(rest)] if rest else [])])
    assert [event["logprobs"] for event in of_kind(events, "output_text.delta")] == [[logprob]]
    assert of_kind(events, "output_text.done")[0]["logprobs"] == [logprob]


def test_text_after_calls_is_a_new_message() -> None:
    events = tell([text("a"), call(0, "c_1", "look", "{}"), text("b"), Stop("stop")])
    assert [item["type"] for item in final(events)["output"]] == ["message", "function_call", "message"]
    assert [item["status"] for item in final(events)["output"]] == ["completed"] * 3


def test_a_refusal_is_a_part_of_its_own() -> None:
    events = tell([text("Well. "), RefusalDelta("refusal", "No")])
    assert final(events)["output"][0]["content"] == [
        {"type": "output_text", "text": "Well. ", "annotations": [], "logprobs": []},
        {"type": "refusal", "refusal": "No"},
    ]
    assert of_kind(events, "refusal.done")[0]["refusal"] == "No"


# ---------------------------------------------------------------- reasoning


def test_reasoning_is_done_before_the_message_begins() -> None:
    events = tell([ReasoningDelta("r", "hm"), text("yes")])
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "status": "completed",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}],
    }
    assert final(events)["output"][0] == reasoning
    order = [(event["type"], event["output_index"]) for event in events if "item" in event]
    assert order[1:3] == [("response.output_item.done", 0), ("response.output_item.added", 1)]


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("open", ["reasoning.delta", "reasoning.done"]),
        ("openai", ["reasoning_text.delta", "reasoning_text.done"]),
    ],
)
def test_the_dialect_names_raw_reasoning_and_nothing_else(dialect: str, names: list[str]) -> None:
    parts: list[Part] = [ReasoningDelta("r", "hm"), text("yes")]
    events = tell(parts, dialect=dialect, check=dialect == "open")
    assert kinds(events)[4:6] == names
    renamed = [{**event, "type": ""} if "reasoning" in event["type"] else event for event in events]
    plain = [{**event, "type": ""} if "reasoning" in event["type"] else event for event in tell(parts)]
    assert renamed == plain


def test_a_summary_and_raw_reasoning_share_an_item() -> None:
    events = tell([SummaryDelta(0, "short"), SummaryDelta(1, "shorter"), ReasoningDelta("r", "long")])
    item = final(events)["output"][0]
    assert [part["text"] for part in item["summary"]] == ["short", "shorter"]
    assert [part["text"] for part in item["content"]] == ["long"]
    assert [event["summary_index"] for event in of_kind(events, "reasoning_summary_text.done")] == [0, 1]


def test_reasoning_without_raw_text_has_no_content_field() -> None:
    assert "content" not in final(tell([SummaryDelta(0, "short")]))["output"][0]


# ---------------------------------------------------------------- citations


def test_only_texts_are_annotated() -> None:
    cited = {"type": "url_citation", "url": "https://a.test/", "title": "A", "start_index": 0, "end_index": 1}
    for part in (SummaryDelta("k", "a"), ReasoningDelta("k", "a"), RefusalDelta("k", "a")):
        assert "output_text.annotation.added" not in kinds(tell([part, AnnotationReport("k", cited)]))
    assert "output_text.annotation.added" in kinds(tell([TextDelta("k", "a"), AnnotationReport("k", cited)]))


@pytest.mark.parametrize(
    ("dialect", "annotation"),
    [
        (
            "open",
            {
                "type": "url_citation",
                "start_index": 3,
                "end_index": 6,
                "url": "/v1/files/file_1/content",
                "title": "a.md",
            },
        ),
        ("openai", {"type": "file_citation", "file_id": "file_1", "filename": "a.md", "index": 3}),
    ],
)
def test_a_citation_of_what_was_told_last_has_its_place(dialect: str, annotation: Json) -> None:
    cited = {"type": "file_citation", "file_id": "file_1", "filename": "a.md"}
    # A pair that comes in halves is one character of the text.
    parts: list[Part] = [
        TextDelta("k", "So\ud83d"),
        TextDelta("k", "\ude00[x]"),
        AnnotationReport("k", cited, 3),
    ]
    events = tell([*parts, TextDelta("k", ".")], dialect=dialect, check=dialect == "open")
    (added,) = [event for event in events if event["type"].endswith("annotation.added")]
    assert added["annotation"] == annotation
    (item,) = events[-1]["response"]["output"]
    assert item["content"][0]["annotations"] == [annotation]


# ---------------------------------------------------------------- text that cannot be carried


def test_nul_becomes_the_replacement_character_everywhere() -> None:
    parts: list[Part] = [ReasoningDelta("r", "a\0"), text("\0b"), call(0, "c\0", "n\0", '{"a":"\0"}')]
    assert "\\u0000" not in orjson.dumps(tell(parts)).decode()
    assert final(tell(parts))["output"][1]["content"][0]["text"] == "\ufffdb"


def test_a_surrogate_pair_cut_in_two_becomes_its_character() -> None:
    events = tell([text("ok \ud83d"), text("\ude00 end"), text("\udcaf!")])
    assert final(events)["output"][0]["content"][0]["text"] == "ok \U0001f600 end\ufffd!"


def test_half_a_surrogate_pair_at_the_end_becomes_the_replacement_character() -> None:
    events = tell([text("a\ud83d"), call(0, "c_1", "look", '{"a":"\ud83d'), Stop("length")])
    assert final(events)["output"][0]["content"][0]["text"] == "a\ufffd"
    assert final(events)["output"][1]["arguments"] == '{"a":"\ufffd'
