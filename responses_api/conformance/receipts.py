"""Rule S7 for tools that the server runs: the steps of a receipt, and where the arguments of its call are told.

OpenAI's API reference, "Streaming events": `response.mcp_call.in_progress`, `response.mcp_call_arguments.delta`, …
"""

from responses_api.conformance.violations import Findings
from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import STEPS
from responses_api.protocol.server_tools import (
    ARGUMENTS_DELTAS,
    ARGUMENTS_DONES,
    arguments_event,
    canonical_type,
    is_receipt,
    step_of,
)

_ENDS = ("completed", "failed")
_OF_FUNCTIONS = {t.FUNCTION_CALL_ARGUMENTS_DELTA, t.FUNCTION_CALL_ARGUMENTS_DONE}
_ARGUMENTS = ARGUMENTS_DELTAS | ARGUMENTS_DONES | _OF_FUNCTIONS


class Steps:
    """The steps that the item at one output index has come to."""

    def __init__(self, index: int, findings: Findings) -> None:
        self._index = index
        self._findings = findings
        self._told: list[str] = []

    def take(self, kind: str, added: Json) -> None:
        """Check one event of the item that is none of its parts'."""
        item_type = str(added.get("type"))
        if kind in _ARGUMENTS:
            self._arguments(kind, item_type)
            return
        step = step_of(kind, item_type)
        if step is None:
            return
        self._require(not self._has_ended, f"has {kind} after its end")
        self._require(step not in self._told, f"came to {step} twice")
        if is_receipt(item_type):
            is_first = not self._told
            self._require(is_first == (step == "in_progress"), f"came to {step} after {self._told}")
        self._told.append(step)

    def check_end(self, final: Json) -> None:
        """Check the finished item against the steps that were told."""
        status = final.get("status")
        if status not in _ENDS or not self._knows(str(final.get("type"))):
            return
        self._require(self._told[-1:] == [status], f"is {status}, and the steps told of it are {self._told}")

    def _knows(self, item_type: str) -> bool:
        return bool(self._told) or canonical_type(item_type) in STEPS

    @property
    def _has_ended(self) -> bool:
        return bool(self._told) and self._told[-1] in _ENDS

    def _arguments(self, kind: str, item_type: str) -> None:
        own = {arguments_event(item_type, step, "open") for step in ("delta", "done")}
        self._require(kind in own, f"is a {item_type} and has {kind}")
        self._require(not self._has_ended, f"has {kind} after its end")

    def _require(self, holds: bool, what: str) -> None:
        self._findings.require(holds, "S7", f"item {self._index} {what}")
