"""Folding a stream, whole or cut anywhere."""

from copy import deepcopy

import pytest

from responses_api.protocol import event_types as t
from responses_api.protocol.fold import fold
from responses_api.protocol.plain import Json
from tests.support.oracle import assert_response
from tests.unit.conformance.streams import GOOD


@pytest.mark.parametrize("name", GOOD)
def test_a_whole_stream_folds_into_its_terminal_snapshot(name: str) -> None:
    assert fold(GOOD[name]) == GOOD[name][-1]["response"]


@pytest.mark.parametrize("name", GOOD)
def test_every_prefix_folds_into_a_valid_response_of_what_was_told(name: str) -> None:
    stream = deepcopy(GOOD[name])
    for end in range(1, len(stream)):
        told = fold(stream[:end])
        assert told is not None
        assert_response(told)
        assert [item["id"] for item in told["output"]] == [
            event["item"]["id"] for event in stream[:end] if event["type"] == t.OUTPUT_ITEM_ADDED
        ]
        done = {event["item"]["id"] for event in stream[:end] if event["type"] == t.OUTPUT_ITEM_DONE}
        for item in told["output"]:
            assert item["id"] in done or item["status"] == "incomplete"
    assert stream == GOOD[name]


@pytest.mark.parametrize("name", GOOD)
def test_what_was_told_before_the_end_is_the_whole_output(name: str) -> None:
    told = fold(GOOD[name][:-1])
    assert told is not None
    assert told["output"] == GOOD[name][-1]["response"]["output"]


def told_text(events: list[Json]) -> str:
    told = fold(events)
    assert told is not None
    return "".join(part["text"] for item in told["output"] for part in item["content"])


def test_an_open_part_holds_the_text_so_far() -> None:
    stream = GOOD["text"]
    assert [told_text(stream[:end]) for end in range(3, 8)] == ["", "", "Hel", "Hello", "Hello"]


def test_an_open_call_holds_the_arguments_so_far() -> None:
    stream = GOOD["everything"]
    cut = next(n for n, event in enumerate(stream) if event["type"] == t.FUNCTION_CALL_ARGUMENTS_DELTA)
    told = fold(stream[: cut + 1])
    assert told is not None
    assert told["output"][2]["arguments"] == '{"a"'
    assert told["output"][2]["status"] == "incomplete"
    assert told["output"][3]["arguments"] == ""


def test_citations_and_log_probabilities_are_kept() -> None:
    stream = GOOD["everything"]
    cut = next(n for n, event in enumerate(stream) if event["type"] == t.OUTPUT_TEXT_DONE)
    told = fold(stream[:cut])
    assert told is not None
    (part,) = told["output"][1]["content"]
    assert len(part["annotations"]) == len(part["logprobs"]) == 1


def test_an_error_makes_the_prefix_a_failed_response() -> None:
    told = fold(GOOD["failed"][:-1])
    assert told is not None
    assert told["status"] == "failed"
    assert told["error"] == {"code": "upstream_error", "message": "Cut."}


def test_what_was_truncated_is_a_field_of_every_prefix_that_tells_it() -> None:
    stream = GOOD["truncated"]
    before, after = fold(stream[:2]), fold(stream[:3])
    assert before is not None
    assert t.TRUNCATION not in before
    assert after == {**before, t.TRUNCATION: stream[-1]["response"][t.TRUNCATION]}


def test_nothing_folds_into_nothing() -> None:
    assert fold([]) is None
