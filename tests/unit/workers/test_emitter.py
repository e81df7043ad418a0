"""The emitter: what it tells for which parts, and that no order of parts breaks the rules of a stream."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.admission import CallAdmission, call_admission
from responses_api.protocol.errors import ProtocolError, model_error, server_error
from responses_api.protocol.plain import Json
from responses_api.protocol.request import parse_create
from responses_api.protocol.truncation import Truncation
from tests.unit.workers.told import ENDED_AT, final, kinds, new_emitter, of_kind, read_back, tell
from workers.backends.parts import (
    AnnotationReport,
    CallDelta,
    Part,
    ReasoningDelta,
    RefusalDelta,
    Stop,
    SummaryDelta,
    TextDelta,
    UsageReport,
)
from workers.emitter import Emitter
from workers.items import is_whole_object

MESSAGE_EVENTS = [
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
]


def text(value: str) -> TextDelta:
    return TextDelta("content", value)


def call(key: int, call_id: str | None, name: str | None, arguments: str = "") -> CallDelta:
    return CallDelta(key, call_id, name, arguments)


LOOK: Json = {"type": "function", "name": "look"}
LAUNCH: Json = {"type": "function", "name": "launch"}


def admission(**fields: object) -> CallAdmission:
    return call_admission(parse_create({"model": "m", "input": "hi", "tools": [LOOK, LAUNCH], **fields}))


def fail(emitter: Emitter) -> None:
    emitter.fail(model_error("It broke."))


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


# ---------------------------------------------------------------- text


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


# ---------------------------------------------------------------- calls


def test_a_call_is_announced_empty_and_grows() -> None:
    events = tell([call(0, "c_1", "look", '{"a"'), call(0, None, None, ":1}"), Stop("tool_calls")])
    assert kinds(events)[2:-1] == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert of_kind(events, "output_item.added")[0]["item"]["arguments"] == ""
    assert final(events)["output"][0] == {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c_1",
        "name": "look",
        "arguments": '{"a":1}',
        "status": "completed",
    }


def test_interleaved_calls_keep_apart() -> None:
    parts = [
        call(0, "c_1", "look"),
        call(1, "c_2", "hear"),
        call(0, None, None, '{"x":'),
        call(1, None, None, '{"y":'),
        call(0, None, None, "1}"),
        call(1, None, None, "2}"),
    ]
    output = final(tell(parts))["output"]
    assert [(item["call_id"], item["arguments"]) for item in output] == [
        ("c_1", '{"x":1}'),
        ("c_2", '{"y":2}'),
    ]


def test_a_call_waits_for_its_id_and_its_name() -> None:
    late_id = tell([call(0, "", "look", '{"a":'), call(0, "c_9", None, "1}")])
    late_name = tell([call(0, "c_9", "", '{"a":'), call(0, "c_9", "look", "1}")])
    assert final(late_id)["output"] == final(late_name)["output"]
    assert final(late_id)["output"][0]["arguments"] == '{"a":1}'


def test_a_repeated_id_and_name_say_nothing_new() -> None:
    item = final(tell([call(0, "c_1", "look", "{"), call(0, "c_1", "look", "}")]))["output"][0]
    assert (item["call_id"], item["name"], item["arguments"]) == ("c_1", "look", "{}")


def test_a_call_that_never_gets_an_id_is_given_one() -> None:
    item = final(tell([call(0, None, "look", "{}"), Stop("tool_calls")]))["output"][0]
    assert (item["call_id"], item["arguments"]) == ("call_1", "{}")


def test_an_id_that_is_too_long_is_replaced() -> None:
    item = final(tell([call(0, "x" * 65, "look", "{}")]))["output"][0]
    assert item["call_id"] == "call_1"
    assert final(tell([call(0, "x" * 64, "look")]))["output"][0]["call_id"] == "x" * 64


def test_two_calls_never_share_an_id() -> None:
    output = final(tell([call(0, "c_1", "look", "{}"), call(1, "c_1", "look", "{}")]))["output"]
    assert output[0]["call_id"] == "c_1"
    assert output[1]["call_id"] not in ("", "c_1")


def test_a_call_without_a_name_fails_the_response() -> None:
    events = tell([call(0, "c_1", "", "{}"), Stop("tool_calls")])
    assert kinds(events)[-2:] == ["error", "failed"]
    assert final(events)["error"]["code"] == "upstream_error"
    assert final(events)["output"] == []


def test_a_nameless_call_is_dropped_where_the_answer_was_cut_short() -> None:
    events = tell([text("a"), call(0, "c_1", "", ""), Stop("length")])
    assert [(item["type"], item["status"]) for item in final(events)["output"]] == [("message", "incomplete")]


def test_a_call_without_arguments_has_an_empty_object() -> None:
    events = tell([call(0, "c_1", "look"), Stop("tool_calls")])
    assert final(events)["output"][0]["arguments"] == "{}"


def test_a_call_that_is_whole_is_done_before_the_next_item_begins() -> None:
    events = tell([call(0, "c_1", "look", "{}"), call(1, "c_2", "look", "{}")])
    assert kinds(events)[2:7] == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "output_item.added",
    ]


def test_arguments_that_are_repeated_as_a_whole_count_once() -> None:
    repeated = [call(0, "c_1", "look", '{"a":1}'), call(0, "c_1", "look", '{"a":1}')]
    assert final(tell(repeated))["output"][0]["arguments"] == '{"a":1}'
    after_its_end = [repeated[0], call(1, "c_2", "hear", "{}"), repeated[1], call(0, None, None, " \n")]
    assert final(tell(after_its_end))["output"][0]["arguments"] == '{"a":1}'


def test_arguments_after_the_end_of_a_call_fail_the_response() -> None:
    events = tell([call(0, "c_1", "look", "{}"), text("so"), call(0, None, None, "{}}")])
    assert kinds(events)[-2:] == ["error", "failed"]


def test_a_call_that_is_not_admitted_appears_in_no_event() -> None:
    rules = admission(tool_choice=LOOK)
    events = tell([call(0, "c_1", "look", "{}"), call(1, "c_2", "launch", "{}")], admission=rules)
    assert final(events)["error"]["code"] == "tool_not_allowed"
    assert [item["name"] for item in final(events)["output"]] == ["look"]
    assert not any("c_2" in orjson.dumps(event).decode() for event in events)
    late = tell([call(0, None, "launch", "{}"), Stop("tool_calls")], admission=rules)
    assert final(late)["error"]["code"] == "tool_not_allowed"
    assert final(late)["output"] == []


def test_calls_beside_and_beyond_what_is_allowed_appear_in_no_event() -> None:
    parts = [call(0, "c_1", "look", "{}"), call(1, "c_2", "look", "{}"), call(2, "c_3", "look", "{}")]
    for fields, told in (({"parallel_tool_calls": False}, 1), ({"max_tool_calls": 2}, 2), ({}, 3)):
        events = tell(parts, admission=admission(**fields))
        response = final(events)
        assert [item["call_id"] for item in response["output"]] == ["c_1", "c_2", "c_3"][:told]
        assert (response["error"] or {}).get("code") == (None if told == 3 else "tool_not_allowed")
        assert (b'"c_3"' in orjson.dumps(events)) == (told == 3)


def test_a_demanded_call_that_was_not_made_fails_the_response() -> None:
    rules = admission(tool_choice="required")
    events = tell([text("No need."), Stop("stop")], admission=rules)
    assert kinds(events)[-2:] == ["error", "failed"]
    assert final(events)["error"]["code"] == "tool_call_missing"
    late = tell([call(0, None, "look", "{}"), Stop("tool_calls")], admission=rules)
    assert final(late)["status"] == "completed"


@pytest.mark.parametrize("stop", [Stop("length"), Stop("content_filter")])
def test_a_demanded_call_may_be_missing_where_the_answer_was_cut_short(stop: Stop) -> None:
    events = tell([text("Let me"), stop], admission=admission(tool_choice="required"))
    assert final(events)["status"] == "incomplete"


# ---------------------------------------------------------------- calls that were cut short


def told_calls(*arguments: str, stop: Stop) -> list[tuple[str, str]]:
    """The arguments and the state of calls that grew side by side until the answer stopped."""
    heads = [call(key, f"c_{key}", "look") for key in range(len(arguments))]
    bodies = [call(key, None, None, told) for key, told in enumerate(arguments)]
    output = final(tell([*heads, *bodies, stop]))["output"]
    return [(item["arguments"], item["status"]) for item in output]


def test_a_call_that_was_cut_is_never_completed_and_one_that_is_whole_is() -> None:
    cut = Stop("length")
    assert told_calls('{"x":[1,', "{}", stop=cut) == [('{"x":[1,', "incomplete"), ("{}", "completed")]
    assert told_calls("{}", '{"x"', stop=cut) == [("{}", "completed"), ('{"x"', "incomplete")]
    assert told_calls('{"a', "", stop=cut) == [('{"a', "incomplete"), ("", "incomplete")]
    assert told_calls('{"a":1}', stop=cut) == [('{"a":1}', "completed")]
    assert told_calls("{}\ud83d", stop=cut) == [("{}\ufffd", "incomplete")]


def test_text_after_a_call_that_was_cut_is_incomplete_too() -> None:
    events = tell([call(0, "c_1", "look", '{"a'), text("so"), Stop("length")])
    assert [item["status"] for item in final(events)["output"]] == ["incomplete", "incomplete"]


def test_arguments_that_are_no_json_stay_as_the_model_ended_them() -> None:
    assert told_calls('{"x":[1,', "{}", stop=Stop("tool_calls")) == [
        ('{"x":[1,', "completed"),
        ("{}", "completed"),
    ]


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


# ---------------------------------------------------------------- any order of parts

ANY_TEXT = st.text(st.sampled_from('ab{}"\0\ud83d\ude00é🌍 '), max_size=4)
KEYS = st.integers(0, 2)
ANY_PART: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextDelta, KEYS, ANY_TEXT),
    st.builds(RefusalDelta, KEYS, ANY_TEXT),
    st.builds(ReasoningDelta, KEYS, ANY_TEXT),
    st.builds(SummaryDelta, KEYS, ANY_TEXT),
    st.builds(
        CallDelta,
        KEYS,
        st.sampled_from([None, "", "c_1", "c_2", "x" * 70]),
        st.sampled_from([None, "", "look"]),
        st.sampled_from(["", "{}", '{"a":', "1}", " ", "\ud83d"]),
    ),
    st.builds(UsageReport, st.integers(0, 9), st.integers(0, 9)),
)
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
    for key in range(256):
        emitter.feed(call(key, f"call_{key}", "look", "{"))
    with pytest.raises(ProtocolError, match="256 items"):
        emitter.feed(call(256, "call_256", "look", "{"))


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
