"""What an emitter tells of function calls: those that may be made, as they grow, and those that were cut short."""

import orjson
import pytest

from tests.unit.workers.parts import LOOK, admission, call, text
from tests.unit.workers.told import final, kinds, of_kind, tell
from workers.backends.parts import Stop


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
