"""Faults of compaction, of sealed reasoning, and of the counting of tokens."""

from collections.abc import Callable

from responses_api.conformance.prompts import HELLO, RECALL
from responses_api.protocol.plain import Json
from tests.support.faults.changes import asking, at, in_body, last_said, without
from tests.support.faults.fault import Call, Fault, Reply


def _compacts(mark: bytes) -> Callable[[Call], bool]:
    """A call for a window that holds this text."""
    return lambda call: at("POST", "/responses/compact")(call) and mark in call.raw


def _window(change: Callable[[Json], Json]) -> Callable[[Reply], Reply]:
    return lambda reply: reply.with_body(change(reply.body)) if reply.status == 200 else reply


def _twice(window: Json) -> Json:
    return {**window, "output": [*window["output"], window["output"][-1]]}


def _brings(kind: bytes) -> Callable[[Call], bool]:
    """A request whose input has a sealed item of this type."""
    mark = b'"type":"' + kind + b'"'
    return lambda call: call.is_create and mark in call.raw and b"encrypted_content" in call.raw


def _unsealed(call: Call) -> Call:
    items = [{key: item[key] for key in item if key != "encrypted_content"} for item in call.body["input"]]
    return asking(input=items)(call)


def _refuse_all(reply: Reply) -> Reply:
    error = {"message": "No.", "type": "invalid_request", "param": "input[1]", "code": None}
    return Reply(400, reply.headers, b"").with_body({"error": error})


COMPACTION = [
    Fault(
        "a window has no usage",
        ("compaction.shape",),
        _compacts(b"I am Ada"),
        reply=_window(without("usage")),
    ),
    Fault("two compaction items", ("compaction.one-item",), _compacts(b"I am Ada"), reply=_window(_twice)),
    Fault(
        "an empty window",
        ("compaction.base",),
        _compacts(b"The code word is"),
        reply=_window(lambda window: {**window, "output": []}),
    ),
    Fault(
        "an empty window of a chain",
        ("compaction.chain",),
        _compacts(b"previous_response_id"),
        reply=_window(lambda window: {**window, "output": []}),
    ),
    Fault(
        "another code for an unknown chain",
        ("compaction.unknown-previous",),
        _compacts(b"resp_0000"),
        reply=in_body("error", "code", value="not_found"),
    ),
    Fault(
        "the seals of windows are not checked",
        ("compaction.tampered", "compaction.foreign"),
        lambda call: (
            _brings(b"compaction")(call) and last_said(call) == HELLO and RECALL.encode() not in call.raw
        ),
        call=asking(input=HELLO),
    ),
    Fault(
        "more than a compaction item",
        ("compaction.trigger",),
        lambda call: call.is_create and b"compaction_trigger" in call.raw,
        response=_twice,
    ),
]

REASONING = [
    Fault(
        "the seals of reasoning are not checked",
        ("reasoning.tampered", "reasoning.foreign"),
        _brings(b"reasoning"),
        call=_unsealed,
    ),
    Fault("its own reasoning is refused", ("reasoning.sealed",), _brings(b"reasoning"), reply=_refuse_all),
    Fault(
        "reasoning is sealed for those who did not ask",
        ("reasoning.asked-for",),
        lambda call: call.is_create and call.body.get("include") == [],
        call=asking(include=["reasoning.encrypted_content"]),
    ),
]

COUNTING = [
    Fault(
        "a count of nothing",
        ("counting.tokens",),
        at("POST", "/responses/input_tokens"),
        reply=lambda reply: in_body("input_tokens", value=0)(reply) if reply.status == 200 else reply,
    ),
    Fault(
        "a count of what would be refused",
        ("counting.refused",),
        lambda call: at("POST", "/responses/input_tokens")(call) and b"narrator" in call.raw,
        call=asking(input=HELLO),
    ),
]
