"""What models are told in the place of receipts: calls and their outputs, which every wire format can pair."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from responses_api.protocol.approvals import approvals
from responses_api.protocol.calls import check_call_pairs
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.file_search import DECLARATION
from responses_api.protocol.hosted import Declaration
from responses_api.protocol.plain import Json
from responses_api.protocol.replay import Names, as_functions, check_receipts
from responses_api.protocol.request import parse_create

HOSTED = {DECLARATION.type: DECLARATION}


def translated(items: list[Json], declarations: Mapping[str, Declaration], names: Names) -> list[Json]:
    _, given = as_functions([], items, declarations, names)
    return given


def user(text: str = "hi") -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def said(text: str = "so") -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "content": [part]}


def call(call_id: str) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "own", "arguments": "{}"}


def output(call_id: str) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": "its"}


def ran(item_id: str, *, spelling: str = "antiphon:mcp_call", **fields: Any) -> Json:
    return {
        "type": spelling,
        "id": item_id,
        "server_label": "docs",
        "name": "look.up",
        "arguments": '{"q":1}',
        "output": f"found by {item_id}",
        "error": None,
        "status": "completed",
        "approval_request_id": None,
        **fields,
    }


def asked(item_id: str, *, spelling: str = "antiphon:mcp_approval_request") -> Json:
    kept = {"server_label": "docs", "name": "look.up", "arguments": "{}"}
    return {"type": spelling, "id": item_id, **kept}


def answered(request_id: str, approve: bool = True, reason: str | None = None) -> Json:
    return {
        "type": "mcp_approval_response",
        "approval_request_id": request_id,
        "approve": approve,
        "reason": reason,
    }


LISTED: Json = {"type": "mcp_list_tools", "id": "l1", "server_label": "docs", "tools": [], "error": None}


def searched(item_id: str) -> Json:
    found = [{"file_id": "file_1", "filename": "a.txt", "text": "Text.", "score": 0.5}]
    return {
        "type": "file_search_call",
        "id": item_id,
        "status": "completed",
        "queries": ["q"],
        "results": found,
    }


def told(items: list[Json], names: dict[tuple[str, str], str] | None = None) -> list[str]:
    """The order and the words of a translation: `>name` for a call, `<output` for its output."""
    short = []
    for item in translated(items, HOSTED, names or {}):
        kind = item["type"]
        if kind == "function_call":
            short.append(f">{item['name']}")
        elif kind == "function_call_output":
            short.append(f"<{item['output']}")
        else:
            short.append(item["content"][0]["text"])
    return short


@pytest.mark.parametrize("spelling", ["mcp_call", "antiphon:mcp_call"])
def test_a_receipt_is_a_call_and_its_output_in_either_spelling(spelling: str) -> None:
    assert told([user(), ran("a", spelling=spelling), said()]) == ["hi", ">look_up", "<found by a", "so"]


def test_calls_of_neighbours_come_before_their_outputs() -> None:
    assert told([ran("a"), LISTED, ran("b"), said()]) == [
        ">look_up",
        ">look_up",
        "<found by a",
        "<found by b",
        "so",
    ]


def test_a_tool_is_called_by_the_name_that_it_is_offered_under() -> None:
    names = {("docs", "look.up"): "docs__look_up", (DECLARATION.type, "file_search"): "search_2"}
    assert told([ran("a"), said(), searched("b")], names)[::3] == [">docs__look_up", ">search_2"]


def test_outputs_wait_for_the_calls_that_the_client_answers() -> None:
    context = [call("f"), ran("a"), call("g"), output("f"), output("g")]
    assert told(context) == [">own", ">look_up", ">own", "<found by a", "<its", "<its"]
    thought = {"type": "reasoning", "content": [{"text": "hm"}]}
    assert told([call("f"), ran("a"), thought, ran("b"), output("f")]) == [
        ">own",
        ">look_up",
        "hm",
        ">look_up",
        "<found by a",
        "<found by b",
        "<its",
    ]


def test_lists_of_tools_are_left_out() -> None:
    assert told([user(), LISTED]) == ["hi"]


def test_a_failed_call_tells_its_error() -> None:
    assert told([ran("a", output=None, error="It is down.")])[1] == "<The call failed: It is down."


def test_a_call_that_was_cut_short_says_so() -> None:
    assert "not finished" in told([ran("a", output=None, status="incomplete")])[1]


def test_a_request_that_nobody_answered_was_not_approved() -> None:
    assert told([asked("r"), user()]) == [">look_up", "<The call was not approved (no answer).", "hi"]


def test_a_call_that_was_not_approved_says_why() -> None:
    assert told([asked("r"), answered("r", False, "too dear")])[1] == ("<The call was not approved: too dear")
    assert told([asked("r"), answered("r", False)])[1] == "<The call was not approved."


def test_of_a_call_that_was_approved_and_run_only_the_receipt_is_told() -> None:
    context = [asked("r"), user(), answered("r"), ran("a", approval_request_id="r"), said()]
    assert told(context) == ["hi", ">look_up", "<found by a", "so"]


def test_a_call_that_was_approved_and_never_run_says_so() -> None:
    assert told([asked("r"), answered("r")]) == [">look_up", "<The call was approved, but it was not run."]


def test_a_search_is_told_from_its_receipt_alone() -> None:
    call_told, result = told([searched("s")])
    assert call_told == ">file_search"
    assert "Text." in result


def test_an_item_that_a_backend_told_is_no_receipt_of_ours() -> None:
    theirs = {**searched("s"), "antiphon:state": "sealed"}
    assert translated([theirs], HOSTED, {}) == [theirs]
    opened = {**searched("s"), "antiphon:opened": None}
    assert translated([opened], HOSTED, {}) == [opened]


def test_the_same_receipt_makes_the_same_call_id_in_a_chain_and_sent_again() -> None:
    (in_chain,) = translated([ran("mcp_1")], {}, {})[:1]
    sent = parse_create({"model": "m", "input": [ran("mcp_1", spelling="mcp_call")]}).input
    stored = [{**item, "id": "item_new"} for item in sent]
    assert translated(stored, {}, {})[0]["call_id"] == in_chain["call_id"]
    (first,) = translated([searched("fs_1")], HOSTED, {})[:1]
    (again,) = translated([{**searched("x"), "id": "item_new"}], HOSTED, {})[:1]
    assert first["call_id"] == again["call_id"]


def test_two_receipts_of_one_id_are_two_calls() -> None:
    calls = [item["call_id"] for item in translated([ran("a"), ran("a")], {}, {})]
    assert len({*calls}) == 2


def test_an_approval_is_found_by_the_id_that_its_client_knows() -> None:
    body = [asked("mcpr_1", spelling="mcp_approval_request"), answered("mcpr_1", False, "no")]
    sent = parse_create({"model": "m", "input": body}).input
    stored = [{**item, "id": f"item_{place}"} for place, item in enumerate(sent)]
    assert told(stored) == [">look_up", "<The call was not approved: no"]
    assert [*approvals(stored).answered] == ["mcpr_1"]


@pytest.mark.parametrize(
    ("item", "fault"),
    [
        ({"type": "file_search_call", "queries": 5}, "'queries' must be a list"),
        ({"type": "antiphon:file_search_call", "queries": [], "results": [5]}, "results[0]"),
        ({"type": "antiphon:nonsense"}, "names no item of this service"),
    ],
)
def test_a_receipt_that_makes_no_sense_is_refused_by_its_item(item: Json, fault: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        check_receipts([user(), item], HOSTED)
    assert (refused.value.status, fault in refused.value.message) == (400, True)
    assert str(refused.value.param).startswith("input[1]")


def test_a_vendors_item_is_kept_as_it_was() -> None:
    check_receipts([{"type": "acme:note"}], HOSTED)
    assert translated([{"type": "acme:note"}], HOSTED, {}) == [{"type": "acme:note"}]


def test_a_history_and_the_input_behind_it_stay_apart() -> None:
    history, new = as_functions([user(), call("f"), ran("a")], [output("f"), said()], HOSTED, {})
    assert [item["type"] for item in new] == ["function_call_output", "message"]
    assert history[-1]["output"] == "found by a"


# What a model and its client may say, in turns; `r` asks, and is answered later or never.
PIECES = some.sampled_from(
    ["user", "said", "ran", "ran openai", "search", "list", "own", "ask", "answer", "run"]
)


def conversation(pieces: list[str]) -> list[Json]:
    context: list[Json] = []
    open_calls: list[str] = []
    waiting: list[str] = []
    approved: list[str] = []
    for place, piece in enumerate(pieces):
        if piece in ("user", "answer") and open_calls:
            # As a client must: it answers before anything else is asked.
            context += [output(name) for name in open_calls]
            open_calls = []
        if piece == "own":
            open_calls.append(f"own_{place}")
            context.append(call(f"own_{place}"))
        elif piece == "ask":
            waiting.append(f"r_{place}")
            context.append(asked(f"r_{place}"))
        elif piece == "answer" and waiting:
            is_approved = place % 2 == 0
            if is_approved:
                approved.append(waiting[0])
            context.append(answered(waiting.pop(0), is_approved))
        elif piece == "run" and approved:
            context.append(ran(f"m_{place}", approval_request_id=approved.pop(0)))
        else:
            simple = {"user": user(), "said": said(), "list": LISTED, "search": searched(f"s_{place}")}
            spelling = "mcp_call" if piece == "ran openai" else "antiphon:mcp_call"
            context.append(simple.get(piece) or ran(f"m_{place}", spelling=spelling))
    return context + [output(name) for name in open_calls]


@given(some.lists(PIECES, max_size=24), some.integers(0, 24))
def test_whatever_was_said_calls_and_outputs_pair(pieces: list[str], border: int) -> None:
    context = conversation(pieces)
    flat = translated(context, HOSTED, {})
    check_call_pairs(flat, 0)
    assert {item["type"] for item in flat} <= {"message", "function_call", "function_call_output"}
    history, new = as_functions(context[:border], context[border:], HOSTED, {})
    assert [*history, *new] == flat
    assert translated(flat, HOSTED, {}) == flat
