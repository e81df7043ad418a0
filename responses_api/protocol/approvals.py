"""Approvals of calls of MCP servers' tools, as a conversation tells them: what was asked, answered and run.

A call that needs approval is told as a request; its response ends, and the client answers in its next one. A request is
answered once. What may be run then is what was approved and has no receipt yet.
OpenAI's API reference: "MCP tool", approvals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.given_receipts import SENT_ID, known_id, receipt_type
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import (
    MCP,
    MCP_APPROVAL_REQUEST,
    MCP_APPROVAL_RESPONSE,
    MCP_CALL,
)
from responses_api.protocol.wording import quoted

_NOT_FOUND: Final = "approval_request_not_found"
_USED: Final = "approval_used"
MOST_APPROVED: Final = 128
"""How many calls one response runs because they were approved."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An approval request and the answer to it. `key` is the id that its client knows the request by: what may be
    run once (`services.approvals`). `place` is the answer's, in the conversation.
    """

    request: Json
    key: str
    is_approved: bool
    reason: str | None
    place: int


@dataclass(frozen=True, slots=True)
class Approvals:
    """What a conversation tells of approvals: `answered` by the key of the request, `run` the keys of those requests
    that a call's receipt names.
    """

    answered: Mapping[str, Answered]
    run: frozenset[str]

    def to_run(self, new_from: int = 0) -> list[Answered]:
        """What was approved from this place on and was not run yet, in the order of the answers."""
        return [
            answer
            for answer in self.answered.values()
            if answer.is_approved and answer.place >= new_from and answer.key not in self.run
        ]


def approvals(context: Sequence[Json]) -> Approvals:
    """What a conversation of canonical or stored items tells of approvals; what makes no sense in it is passed over."""
    requests = _requests(context)
    answered: dict[str, Answered] = {}
    run = set()
    for place, item in enumerate(context):
        kind = receipt_type(item)
        if kind == MCP_CALL and item.get("approval_request_id"):
            named = requests.get(item["approval_request_id"])
            run.add(known_id(named) if named else item["approval_request_id"])
        elif kind == MCP_APPROVAL_RESPONSE and item["approval_request_id"] in requests:
            request = requests[item["approval_request_id"]]
            answer = Answered(request, known_id(request), item["approve"], item.get("reason"), place)
            answered.setdefault(answer.key, answer)
    return Approvals(answered, frozenset(run))


def check_approvals(context: Sequence[Json], new_from: int, tools: Sequence[Json]) -> list[Answered]:
    """Check that every answer in the request's own input answers an open request before it, and that what it approves
    is of a server, or a hosted tool, among `tools`; returns what is to be run. A request that was told before, and is
    sent again beside that, must be the same: what is approved is what was asked.

    Raises `ProtocolError` 400 naming the answer's field.
    """
    known: dict[str, Json] = {}
    answered: set[str] = set()
    labels = {tool["server_label"] if tool["type"] == MCP else tool["type"] for tool in tools}
    for place, item in enumerate(context):
        kind = receipt_type(item)
        if kind == MCP_APPROVAL_REQUEST:
            for name in _names(item):
                first = known.setdefault(name, item)
                if place >= new_from and _asked(first) != _asked(item):
                    raise _changed(name, f"input[{place - new_from}]")
        elif kind == MCP_APPROVAL_RESPONSE:
            request = known.get(item["approval_request_id"])
            if place >= new_from:
                _check(item, request, answered, f"input[{place - new_from}]")
            if request is not None:
                answered.add(known_id(request))
    to_run = approvals(context).to_run(new_from)
    for answer in to_run:
        if answer.request["server_label"] not in labels:
            raise _without_server(answer, f"input[{answer.place - new_from}]")
    if len(to_run) > MOST_APPROVED:
        raise _too_many(f"input[{to_run[MOST_APPROVED].place - new_from}]")
    return to_run


def used(answer: Answered, new_from: int) -> ProtocolError:
    """The 400 for an approval that another response has used."""
    return _refused(
        f"The approval of '{quoted(answer.key)}' was used by another response: a call is run once for each approval."
        " Ask the model again for another call.",
        f"input[{answer.place - new_from}]",
        _USED,
    )


def _check(item: Json, request: Json | None, answered: set[str], path: str) -> None:
    named = quoted(item["approval_request_id"])
    if request is None:
        raise _refused(
            f"'{path}.approval_request_id' must name an mcp_approval_request before it in the conversation; there is"
            f" no '{named}'.",
            path,
            _NOT_FOUND,
        )
    if known_id(request) in answered:
        raise _refused(
            f"'{path}' answers '{named}', which was answered before: an approval request has one answer.",
            path,
            _USED,
        )


def _without_server(answer: Answered, path: str) -> ProtocolError:
    label = quoted(answer.request["server_label"])
    return _refused(
        f"'{path}' approves a call of '{label}', which is not among the request's 'tools': send the tool with this"
        " server_label, or of this type, again.",
        path,
        "invalid_value",
    )


def _changed(name: str, path: str) -> ProtocolError:
    message = (
        f"'{path}' must ask for the same call as the mcp_approval_request '{quoted(name)}' before it in the"
        " conversation: the same 'server_label', 'name' and 'arguments'."
    )
    return invalid_request(message, param=path, code="invalid_value")


def _too_many(path: str) -> ProtocolError:
    return _refused(
        f"'{path}' approves a call more than the {MOST_APPROVED} that one response runs: send it with the next"
        " request.",
        path,
        "invalid_value",
    )


def _refused(message: str, path: str, code: str) -> ProtocolError:
    return invalid_request(message, param=f"{path}.approval_request_id", code=code)


def _requests(context: Sequence[Json]) -> dict[str, Json]:
    """The approval requests, by every id that an answer may name them by: of several with one id the first."""
    return {
        name: item
        for item in reversed(context)
        if receipt_type(item) == MCP_APPROVAL_REQUEST
        for name in _names(item)
    }


def _names(item: Json) -> list[str]:
    return [name for name in (item.get("id"), item.get(SENT_ID)) if name]


def _asked(request: Json) -> tuple[str, str, str]:
    return request["server_label"], request["name"], request["arguments"]
