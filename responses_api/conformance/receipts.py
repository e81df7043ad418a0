"""Rule S7 for tools that the server runs: the steps of a receipt, and where the arguments of its call are told.

OpenAI's API reference, "Streaming events": `response.mcp_call.in_progress`, `response.mcp_call_arguments.delta`, …
"""

from responses_api.conformance.violations import Findings
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import has_arguments
from responses_api.protocol.server_tools import (
    ARGUMENTS_DELTAS,
    ARGUMENTS_DONES,
    arguments_event,
    is_receipt,
    step_of,
)

_ENDS = ("completed", "failed")


class Steps:
    """The steps that the item at one output index has come to."""

    def __init__(self, index: int, findings: Findings) -> None:
        self._index = index
        self._findings = findings
        self._told: list[str] = []

    def take(self, kind: str, added: Json) -> None:
        """Check one event of the item that is none of its parts'."""
        item_type = str(added.get("type"))
        if kind in ARGUMENTS_DELTAS | ARGUMENTS_DONES:
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
        if self._has_ended and status is not None:
            self._require(status == self._told[-1], f"came to {self._told[-1]} and is {status}")
        if is_receipt(str(final.get("type"))) and status in _ENDS:
            self._require(status in self._told, f"is {status}, which no event told")

    @property
    def _has_ended(self) -> bool:
        return bool(self._told) and self._told[-1] in _ENDS

    def _arguments(self, kind: str, item_type: str) -> None:
        step = "delta" if kind in ARGUMENTS_DELTAS else "done"
        is_named = has_arguments(item_type) and kind == arguments_event(item_type, step, "open")
        self._require(is_named, f"is a {item_type} and has {kind}")
        self._require(not self._has_ended, f"has {kind} after its end")

    def _require(self, holds: bool, what: str) -> None:
        self._findings.require(holds, "S7", f"item {self._index} {what}")
