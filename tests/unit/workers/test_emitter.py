"""The emitter: what it tells for which parts, and that no order of parts breaks the rules of a stream."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.errors import ProtocolError, model_error, server_error
from responses_api.protocol.plain import Json
from responses_api.protocol.truncation import Truncation
from tests.unit.workers.parts import ANY_PART, call, fail, text
from tests.unit.workers.told import ENDED_AT, final, kinds, new_emitter, read_back, tell
from workers.backends.parts import (
    Part,
    ReasoningDelta,
    RefusalDelta,
    Stop,
    SummaryDelta,
    UsageReport,
)
from workers.emitter import Emitter
from workers.items import is_whole_object

# ---------------------------------------------------------------- truncation


def truncation(dropped: int) -> Truncation:
    return Truncation(dropped_items=dropped, dropped_turns=dropped, input_tokens=9, context_window=10)


def test_what_was_truncated_before_the_start_is_told_right_after_it_and_in_every_snapshot() -> None:
    emitter = new_emitter()
    emitter.truncated(truncation(2))
    emitter.start()
    emitter.feed(text("x"))
    emitter.finish()
    events = read_back(emitter)
    told = truncation(2).to_plain()
    assert events[2] == {"type": "antiphon:truncation", **told, "sequence_number": 2}
    assert [event["response"]["antiphon:truncation"] for event in (events[0], events[1], events[-1])] == [
        told
    ] * 3


def test_what_was_truncated_after_the_start_is_told_at_once_and_the_latest_holds() -> None:
    emitter = new_emitter()
    emitter.start()
    emitter.truncated(truncation(2))
    emitter.truncated(truncation(4))
    emitter.fail(model_error("It broke."))
    events = read_back(emitter)
    assert [event.get("dropped_items") for event in events] == [None, None, 2, 4, None, None]
    assert final(events)["antiphon:truncation"] == truncation(4).to_plain()


# ---------------------------------------------------------------- padding


def padded(dialect: str = "open") -> list[Json]:
    parts: list[Part] = [
        SummaryDelta(0, "short"),
        ReasoningDelta("r", "hm"),
        text("yes\ud83d"),
        RefusalDelta("refusal", "no"),
        call(0, "c_1", "look", '{"a":1}'),
    ]
    return tell(parts, dialect=dialect, check=dialect == "open", pad=lambda number, size: f"{number}:{size}-")


@pytest.mark.parametrize("dialect", ["open", "openai"])
def test_every_delta_is_padded_by_its_size_where_its_schema_has_a_place(dialect: str) -> None:
    events = padded(dialect)
    for event in events:
        has_place = event["type"].endswith(".delta") and event["type"] != "response.refusal.delta"
        assert ("obfuscation" in event) == has_place
        if has_place:
            number, padding = event.pop("sequence_number"), event.pop("obfuscation")
            assert padding == f"{number}:{len(orjson.dumps(event))}-"
    assert sum(event["type"].endswith(".delta") for event in events) == 6


def test_padding_changes_nothing_else() -> None:
    plain = [{**event, "obfuscation": ""} for event in tell([text("a"), text("b"), Stop("stop")])]
    with_padding = tell([text("a"), text("b"), Stop("stop")], pad=lambda number, size: "xyz")
    assert [{**event, "obfuscation": ""} for event in with_padding] == plain


# ---------------------------------------------------------------- the end


def test_completed_says_when_and_carries_the_usage() -> None:
    events = tell([text("x"), UsageReport(1, 1), UsageReport(7, 5, 3, 2, 12), Stop("stop")])
    response = final(events)
    assert (response["status"], response["completed_at"]) == ("completed", ENDED_AT)
    assert response["usage"] == {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 12,
    }


def test_usage_that_was_never_told_is_null() -> None:
    assert final(tell([text("x")]))["usage"] is None


@pytest.mark.parametrize(
    ("stop", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_an_answer_cut_short_is_incomplete_with_its_last_item(stop: str, reason: str) -> None:
    events = tell([ReasoningDelta("r", "hm"), text("so f"), Stop(stop)])  # type: ignore[arg-type]
    response = final(events)
    assert kinds(events)[-1] == "incomplete"
    assert response["incomplete_details"] == {"reason": reason}
    assert [item["status"] for item in response["output"]] == ["completed", "incomplete"]
    assert (response["error"], response["completed_at"]) == (None, None)


def test_a_failure_closes_what_is_open_and_is_told_before_the_end() -> None:
    events = tell([text("half"), call(0, "c_1", "look", '{"a')], fail)
    assert kinds(events)[-5:] == [
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "error",
        "failed",
    ]
    assert events[-2]["error"] == {
        "type": "model_error",
        "code": "upstream_error",
        "message": "It broke.",
        "param": None,
    }
    response = final(events)
    assert [item["status"] for item in response["output"]] == ["completed", "incomplete"]
    assert response["error"] == {"code": "upstream_error", "message": "It broke."}


def test_a_failure_without_a_code_has_its_type_for_one() -> None:
    events = tell(
        [], lambda emitter: emitter.fail(ProtocolError(status=500, type="server_error", message="No."))
    )
    assert final(events)["error"] == {"code": "server_error", "message": "No."}
    assert events[-2]["error"]["code"] is None


def test_a_cancelled_response_tells_no_error() -> None:
    events = tell([text("half")], Emitter.cancel)
    assert "error" not in kinds(events)
    response = final(events)
    assert (response["status"], response["error"], response["completed_at"]) == ("cancelled", None, None)
    assert response["output"][0]["status"] == "incomplete"


@pytest.mark.parametrize("end", [Emitter.finish, Emitter.cancel, fail])
def test_an_end_before_the_start_begins_the_stream_all_the_same(end: object) -> None:
    emitter = new_emitter()
    assert callable(end)
    end(emitter)
    assert kinds(read_back(emitter))[:2] == ["created", "in_progress"]


def test_a_finished_response_can_still_fail_until_its_end_is_told() -> None:
    def finish_then_fail(emitter: Emitter) -> None:
        emitter.finish()
        emitter.fail(server_error("The response could not be stored."))

    response = final(tell([text("x"), Stop("length")], finish_then_fail))
    assert (response["status"], response["incomplete_details"]) == ("failed", None)


def test_only_the_first_failure_is_told() -> None:
    def fail_twice(emitter: Emitter) -> None:
        emitter.fail(model_error("First."))
        emitter.fail(model_error("Second."))
        emitter.cancel()

    events = tell([], fail_twice)
    assert kinds(events).count("error") == 1
    assert final(events)["error"]["message"] == "First."


def test_there_is_one_terminal_event_and_nothing_after_it() -> None:
    emitter = new_emitter()
    with pytest.raises(RuntimeError):
        emitter.terminal()
    emitter.finish()
    emitter.terminal()
    for late in (
        emitter.terminal,
        lambda: emitter.feed(text("x")),
        lambda: emitter.fail(model_error("x")),
        emitter.cancel,
        emitter.finish,
    ):
        with pytest.raises(RuntimeError):
            late()


def test_the_snapshot_in_the_middle_shows_what_was_told_so_far() -> None:
    emitter = new_emitter()
    emitter.start()
    emitter.feed(text("so f"))
    response = emitter.response
    assert (response["status"], response["output"][0]["status"]) == ("in_progress", "in_progress")
    assert response["output"][0]["content"][0]["text"] == "so f"


def test_the_base_snapshot_is_left_alone() -> None:
    events = tell([text("x")])
    assert events[0]["response"]["output"] == events[1]["response"]["output"] == []
    assert events[0]["response"]["status"] == "in_progress"


def test_draining_takes_each_frame_once() -> None:
    emitter = new_emitter()
    emitter.start()
    first = emitter.drain()
    assert first.count(b"\n\n") == emitter.next_sequence == 2
    emitter.feed(text("x"))
    assert b"response.created" not in emitter.drain()
    assert emitter.drain() == b""


# ---------------------------------------------------------------- any order of parts

ENDS = st.sampled_from([Emitter.finish, Emitter.cancel, fail])
STOPS = st.sampled_from(
    [[], [Stop("stop")], [Stop("length")], [Stop("content_filter")], [Stop("tool_calls")]]
)


@given(st.lists(ANY_PART, max_size=14), STOPS, ENDS)
def test_no_order_of_parts_breaks_the_rules(parts: list[Part], stop: list[Part], end: object) -> None:
    assert callable(end)
    events = tell([*parts, *stop], end)
    if final(events)["status"] == "incomplete":
        assert all(
            item["status"] == ("completed" if is_whole_object(item["arguments"]) else "incomplete")
            for item in final(events)["output"]
            if item["type"] == "function_call"
        )


def test_an_answer_of_more_items_than_any_model_means_fails() -> None:
    emitter = new_emitter()
    emitter.start()
    for key in range(1024):
        emitter.feed(call(key, f"call_{key}", "look", "{"))
    with pytest.raises(ProtocolError, match="1024 items"):
        emitter.feed(call(1024, "call_1024", "look", "{"))
