"""How the emitter tells the receipts of tools that the service runs, in which order, and what becomes of open ones."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from responses_api.conformance.stream import assert_stream
from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Verdict
from responses_api.protocol.receipts import INTERRUPTED, NOT_LISTED, REFUSED_BY
from responses_api.protocol.rounds import last_round_end
from responses_api.protocol.score import perform
from responses_api.protocol.sse import DONE, decode, frames_of, frames_to_data
from tests.support.oracle import event_faults
from tests.unit.workers.parts import ANY_PART, admission, call, fail, text
from tests.unit.workers.told import final, kinds, new_emitter, of_kind, play, read_back, tell
from workers.backends.parts import Part, Receipt, RoundEnd, Stop
from workers.emitter import Emitter

BEGUN: Json = {
    "type": "antiphon:mcp_call",
    "status": "in_progress",
    "server_label": "dice",
    "name": "roll",
    "arguments": '{"sides":6}',
    "output": None,
    "error": None,
    "approval_request_id": None,
}
DONE_CALL: Json = {**BEGUN, "status": "completed", "output": "4"}
LIST: Json = {
    "type": "antiphon:mcp_list_tools",
    "server_label": "dice",
    "tools": [{"name": "roll", "description": None, "input_schema": {}, "annotations": None}],
    "error": None,
}
REQUEST: Json = {
    "type": "antiphon:mcp_approval_request",
    "server_label": "dice",
    "name": "roll",
    "arguments": '{"sides":6}',
}
SEARCH: Json = {
    "type": "antiphon:file_search_call",
    "status": "in_progress",
    "queries": ["herons"],
    "results": [],
    "error": None,
}
FOUND: Json = {
    **SEARCH,
    "status": "completed",
    "results": [
        {"file_id": "file_1", "filename": "birds.md", "score": 0.5, "text": "Grey", "attributes": {}}
    ],
}
DENIED = Verdict("deny", "tenant", 0, "tools", "No dice.")


def begin(key: object, item: Json = BEGUN, **told: Any) -> Receipt:
    return Receipt(key, item, "in_progress", **told)


def end(key: object, item: Json = DONE_CALL) -> Receipt:
    return Receipt(key, item, item["status"], is_done=True)


def once_more(emitter: Emitter) -> bytes:
    """The stream told again from the stored response and its score."""
    return b"".join(perform(emitter.response, emitter.score()))


def played(
    parts: Sequence[Part], ends: Callable[[Emitter], None] = Emitter.finish, **options: Any
) -> Emitter:
    emitter = new_emitter(**options)
    play(emitter, parts, ends)
    return emitter


@pytest.mark.parametrize(
    ("dialect", "prefix", "head"), [("open", "antiphon:", "antiphon:"), ("openai", "", "response.")]
)
def test_a_call_is_told_in_the_order_of_openai_under_the_names_of_the_dialect(
    dialect: str, prefix: str, head: str
) -> None:
    events = tell([begin(1), end(1)], dialect=dialect)
    assert [event["type"] for event in events[2:-1]] == [
        "response.output_item.added",
        f"{head}mcp_call.in_progress",
        f"{head}mcp_call_arguments.delta",
        f"{head}mcp_call_arguments.done",
        f"{head}mcp_call.completed",
        "response.output_item.done",
    ]
    id = events[2]["item"]["id"]
    assert events[2]["item"] == {**BEGUN, "type": f"{prefix}mcp_call", "id": id, "arguments": ""}
    assert events[3] == {**events[3], "item_id": id, "output_index": 0}
    assert (events[4]["delta"], events[5]["arguments"]) == ('{"sides":6}', '{"sides":6}')
    assert final(events)["output"] == [{**DONE_CALL, "type": f"{prefix}mcp_call", "id": id}]
    assert id.startswith("mcp_")


def test_a_call_without_arguments_has_no_delta() -> None:
    events = tell([begin(1, {**BEGUN, "arguments": ""}), end(1, {**DONE_CALL, "arguments": ""})])
    assert not [event for event in events if event["type"].endswith(".delta")]


def test_lists_requests_and_searches_are_told_each_in_its_steps() -> None:
    parts: list[Part] = [
        begin(1, {**LIST, "tools": []}),
        Receipt(1, LIST, "completed", is_done=True),
        begin(2, SEARCH),
        Receipt(2, SEARCH, "searching"),
        end(2, FOUND),
        Receipt(3, REQUEST, is_done=True),
    ]
    events = tell(parts)
    assert [event["type"].removeprefix("antiphon:") for event in events[2:-1]] == [
        "response.output_item.added",
        "mcp_list_tools.in_progress",
        "mcp_list_tools.completed",
        "response.output_item.done",
        "response.output_item.added",
        "file_search_call.in_progress",
        "file_search_call.searching",
        "file_search_call.completed",
        "response.output_item.done",
        "response.output_item.added",
        "response.output_item.done",
    ]
    items = [
        {name: value for name, value in item.items() if name != "id"} for item in final(events)["output"]
    ]
    # The specification wants a status of every item that is none of its own.
    assert items == [{**LIST, "status": "completed"}, FOUND, {**REQUEST, "status": "completed"}]
    assert [item["id"].partition("_")[0] for item in final(events)["output"]] == ["mcpl", "fs", "mcpr"]


def test_calls_run_side_by_side_and_end_in_any_order() -> None:
    events = tell([begin(1), begin(2), end(2), end(1)])
    done = [event["output_index"] for event in of_kind(events, "output_item.done")]
    assert done == [1, 0]


def test_a_receipt_ends_the_message_before_it() -> None:
    events = tell([text("Let me roll."), begin(1), end(1), text("A four.")])
    assert [item["type"] for item in final(events)["output"]] == ["message", "antiphon:mcp_call", "message"]


def test_the_end_of_a_round_closes_what_the_model_said_and_the_response_goes_on() -> None:
    parts: list[Part] = [
        text("Let me look."),
        call(0, None, "look", "{}"),
        Stop("length"),
        RoundEnd(),
        begin(1),
        end(1),
        text("Done."),
        Stop("stop"),
    ]
    events = tell(parts, admission=admission())
    response = final(events)
    assert response["status"] == "completed"
    assert [item["status"] for item in response["output"]] == ["completed"] * 4
    message_done = [event for event in of_kind(events, "output_item.done") if event["output_index"] == 0]
    added = [event for event in of_kind(events, "output_item.added") if event["output_index"] == 2]
    assert message_done[0]["sequence_number"] < added[0]["sequence_number"]


def test_the_names_that_an_upstream_gives_its_calls_say_nothing_in_the_next_round() -> None:
    parts: list[Part] = [
        call(0, "c_1", "look", "{}"),
        RoundEnd(),
        begin(1),
        end(1),
        call(0, "c_2", "look", '{"a":1}'),
    ]
    output = final(tell(parts, admission=admission()))["output"]
    assert [item["arguments"] for item in output if item["type"] == "function_call"] == ["{}", '{"a":1}']


def test_a_nameless_call_at_the_end_of_a_round_fails_the_response() -> None:
    assert final(tell([call(0, "c_1", None, "{}"), RoundEnd()]))["status"] == "failed"


@pytest.mark.parametrize("ends", [Emitter.cancel, fail])
@pytest.mark.parametrize("item", [BEGUN, SEARCH, {**LIST, "tools": []}])
def test_open_receipts_are_incomplete_where_the_response_is_broken_off(item: Json, ends: Any) -> None:
    (told,) = final(tell([begin(1, item)], ends))["output"]
    assert told.get("status", "incomplete") == "incomplete"
    assert told["error"] == (NOT_LISTED if item["type"] == LIST["type"] else None)


def test_a_response_is_not_finished_while_a_receipt_is_open() -> None:
    emitter = new_emitter()
    emitter.start()
    emitter.feed(begin(1))
    with pytest.raises(RuntimeError, match="receipt is open"):
        emitter.finish()
    emitter.fail(model_error("It broke."))
    assert kinds(read_back(emitter))[-1] == "failed"


def test_what_a_tool_said_is_made_fit_to_be_stored() -> None:
    (told,) = final(tell([begin(1), end(1, {**DONE_CALL, "output": "a\0b\ud800"})]))["output"]
    assert told["output"] == "a\ufffdb\ufffd"


def test_more_items_than_any_model_means_are_refused_also_where_they_are_receipts() -> None:
    emitter = new_emitter()
    emitter.start()
    for key in range(1024):
        emitter.feed(begin(key))
    with pytest.raises(ProtocolError, match="1024 items"):
        emitter.feed(begin(1024))


def test_the_items_that_are_done_are_what_the_conversation_goes_on_with() -> None:
    emitter = new_emitter(dialect="openai")
    emitter.start()
    for part in (text("Let me roll."), RoundEnd(), begin(1), end(1), begin(2)):
        emitter.feed(part)
    assert [item["type"] for item in emitter.told_items] == ["message", "mcp_call"]
    assert emitter.told_items == emitter.record["output"][:2]


# ---------------------------------------------------------------- rulings


def test_a_call_that_the_service_runs_counts_as_one_and_is_recorded_under_its_id() -> None:
    allowed = Verdict("allow", "tenant", 1, "tools", "Yes.")
    parts: list[Part] = [begin(1, called="dice_roll", verdicts=(allowed,)), end(1), Stop("stop")]
    emitter = played(parts, admission=admission(tool_choice="required"))
    assert emitter.response["status"] == "completed"
    (decision,) = emitter.decisions
    assert decision["call_id"] == emitter.response["output"][0]["id"]
    assert (decision["tool"], decision["effect"], emitter.told_calls) == ("dice_roll", "allow", 1)


def test_calls_that_were_run_count_towards_the_most_that_may_be_made() -> None:
    parts: list[Part] = [begin(1, called="roll"), end(1), call(0, "c_1", "look", "{}")]
    events = tell(parts, admission=admission(max_tool_calls=1))
    assert final(events)["error"]["code"] == "tool_not_allowed"


def test_a_call_that_a_policy_denies_is_no_call_and_its_receipt_says_why() -> None:
    refused = {**BEGUN, "status": "failed", "error": "No dice.", REFUSED_BY: DENIED.to_plain()}
    parts: list[Part] = [begin(1, called="roll", verdicts=(DENIED,)), end(1, refused)]
    emitter = played(parts, admission=admission(tool_choice="required"))
    assert emitter.response["error"]["code"] == "tool_call_missing"
    assert emitter.response["output"][0][REFUSED_BY] == DENIED.to_plain()
    assert emitter.told_calls == 0
    added = of_kind(read_back(emitter), "output_item.added")[0]["item"]
    assert REFUSED_BY not in added


# ---------------------------------------------------------------- told again

HOSTED: Json = {"type": "acme:dice_call", "status": "in_progress", "arguments": "{}", "output": None}
ITEMS = [
    (BEGUN, DONE_CALL),
    (BEGUN, {**BEGUN, "status": "failed", "error": "Down."}),
    (BEGUN, {**BEGUN, "status": "failed", "error": "No dice.", REFUSED_BY: DENIED.to_plain()}),
    ({**BEGUN, "arguments": ""}, {**DONE_CALL, "arguments": ""}),
    ({**LIST, "tools": []}, LIST),
    ({**LIST, "tools": []}, {**LIST, "tools": [], "error": "Down."}),
    (REQUEST, REQUEST),
    (SEARCH, FOUND),
    (HOSTED, {**HOSTED, "status": "completed", "output": "4"}),
]


@pytest.mark.parametrize("dialect", ["open", "openai"])
@pytest.mark.parametrize(("first", "last"), ITEMS)
def test_a_stored_stream_is_told_again_byte_by_byte(first: Json, last: Json, dialect: str) -> None:
    status = last.get("status", "completed" if last.get("error") is None else "failed")
    step = None if first is REQUEST else "in_progress"
    parts: list[Part] = [
        text("Hm."),
        Receipt(1, first, step),
        *([Receipt(1, first, "searching")] if first is SEARCH else []),
        Receipt(1, last, None if first is REQUEST else status, is_done=True),
        text("So."),
    ]
    emitter = played(parts, dialect=dialect)
    told = emitter.drain() + emitter.terminal()
    assert once_more(emitter) == told
    score = emitter.score()
    assert score is not None
    # Of a type that nobody knows it does not follow what was announced of it: what was other then is kept.
    assert score.get("kept") == ([{"set": {"output": None}, "drop": []}] if first is HOSTED else None)
    # A response whose stream was never written down is told in the same steps.
    plain = b"".join(perform(emitter.response, {"dialect": dialect}))
    assert (plain == told) == (first is not HOSTED)


@st.composite
def any_conversation(draw: st.DrawFn) -> list[Part]:
    """Rounds of speech and receipts; those of a round run side by side and end in any order."""
    parts: list[Part] = []
    for number in range(draw(st.integers(1, 3))):
        parts += draw(st.lists(ANY_PART, max_size=4))
        if draw(st.booleans()):
            parts.append(RoundEnd())
        chosen = draw(st.lists(st.sampled_from(ITEMS), max_size=3))
        opened = list(enumerate(chosen))
        parts += [
            Receipt((number, key), item[0], "in_progress") for key, item in opened if item[0] is not REQUEST
        ]
        for key, (_, last) in draw(st.permutations(opened)):
            is_request = last is REQUEST
            status = last.get("status", "completed" if last.get("error") is None else "failed")
            parts.append(Receipt((number, key), last, None if is_request else status, is_done=True))
    return parts


ENDS = st.sampled_from([Emitter.finish, Emitter.cancel, fail])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_conversation(), st.integers(0, 30), ENDS, st.sampled_from(["open", "openai"]))
def test_no_order_of_receipts_breaks_the_rules_and_each_is_told_again(
    parts: list[Part], length: int, ends: Callable[[Emitter], None], dialect: str
) -> None:
    cut = parts if ends is Emitter.finish else parts[:length]
    emitter = played(cut, ends, dialect=dialect)
    raw = emitter.drain()
    score = emitter.score()
    again = b"".join(perform(emitter.response, score))
    told = raw + emitter.terminal()
    assert again == told
    tell(cut, ends, dialect=dialect)


# ---------------------------------------------------------------- going on where another attempt was

THOUGHT = text("Let me roll.")
FIRST_ROUND: list[Part] = [begin(0, {**LIST, "tools": []}), Receipt(0, LIST, "completed", is_done=True)]
FIRST_ROUND += [THOUGHT, RoundEnd(), begin(1), end(1)]
SECOND_ROUND: list[Part] = [text("Again."), RoundEnd(), begin(2), begin(3), end(3), end(2)]
LAST_ROUND: list[Part] = [text("Four and "), text("four."), Stop("stop")]


def told_events(parts: Sequence[Part], **options: Any) -> list[Json]:
    emitter = new_emitter(**options)
    emitter.start()
    for part in parts:
        emitter.feed(part)
    return [decode(data) for data in frames_to_data(emitter.drain())]


@pytest.mark.parametrize("dialect", ["open", "openai"])
def test_going_on_from_the_last_finished_round_makes_the_same_stream(dialect: str) -> None:
    whole = played([*FIRST_ROUND, *SECOND_ROUND, *LAST_ROUND], dialect=dialect)
    told = told_events([*FIRST_ROUND, *SECOND_ROUND, *LAST_ROUND[:1]], dialect=dialect)
    count = last_round_end(told)
    assert count == len(told_events([*FIRST_ROUND, *SECOND_ROUND], dialect=dialect))
    ids = iter(["msg_10"])
    emitter = Emitter(
        {**whole.response, "completed_at": None, "usage": None},
        new_id=lambda prefix: next(ids),
        clock=lambda: whole.response["completed_at"],
        dialect=dialect,  # type: ignore[arg-type]
    )
    emitter.resume(told[:count])
    emitter.start()
    assert emitter.drain() == b""
    assert emitter.told_items == whole.record["output"][:-1]
    for part in LAST_ROUND:
        emitter.feed(part)
    emitter.finish()
    rest = emitter.drain() + emitter.terminal()
    before = frames_of(whole.drain())[:count]
    assert b"".join(before) + rest == b"".join(perform(emitter.response, emitter.score()))
    assert emitter.response["output"][:-1] == whole.response["output"][:-1]
    assert_stream(b"".join(before) + rest + DONE, validate=event_faults)


def test_nothing_that_was_only_said_is_taken_up() -> None:
    assert last_round_end(told_events([THOUGHT])) == 0
    assert last_round_end(told_events([])) == 0
    assert last_round_end(told_events([call(0, "c_1", "look", "{}")])) == 0


def test_calls_that_were_being_run_have_failed_for_whoever_goes_on() -> None:
    told = told_events([*FIRST_ROUND, text("Again."), RoundEnd(), begin(2), begin(3), end(3)])
    assert last_round_end(told) == len(told)
    emitter = new_emitter()
    emitter.resume(told)
    events = [data for data in frames_to_data(emitter.drain())]
    assert [b"mcp_call.failed" in data for data in events] == [True, False]
    broken = emitter.told_items[-2]
    assert (broken["status"], broken["error"]) == ("failed", INTERRUPTED)
    assert broken["arguments"] == BEGUN["arguments"]
    emitter.feed(text("So."))
    emitter.finish()
    assert emitter.response["status"] == "completed"
    assert (
        b"".join(perform(emitter.response, emitter.score())).count(b"event: ") == len(told) + len(events) + 7
    )


def test_what_was_called_before_counts_for_whoever_goes_on() -> None:
    told = told_events([call(0, "c_1", "look", "{}"), RoundEnd(), begin(1), end(1)])
    emitter = new_emitter(admission=admission(max_tool_calls=2))
    emitter.resume(told, lambda item: ("roll", ()) if item["type"] == BEGUN["type"] else None)
    assert emitter.told_calls == 2
    with pytest.raises(ProtocolError, match="max_tool_calls"):
        emitter.feed(call(0, "c_1", "look", "{}"))
