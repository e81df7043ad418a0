"""Rules S4, S5 and S7: the life of one output item within a stream."""

from responses_api.conformance.parts import PART_EVENTS, PartLife
from responses_api.conformance.receipts import Steps
from responses_api.conformance.violations import Findings
from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import has_arguments
from responses_api.protocol.server_tools import ARGUMENTS_DELTAS, ARGUMENTS_DONES

_ARGUMENTS_DELTAS = ARGUMENTS_DELTAS | {t.FUNCTION_CALL_ARGUMENTS_DELTA}
_ARGUMENTS_DONES = ARGUMENTS_DONES | {t.FUNCTION_CALL_ARGUMENTS_DONE}
_ITEM_EVENTS = PART_EVENTS | _ARGUMENTS_DELTAS | _ARGUMENTS_DONES | {t.OUTPUT_ITEM_ADDED, t.OUTPUT_ITEM_DONE}


def is_of_item(event: Json) -> bool:
    """Whether an event is about an item: those of a tool that the server runs say so by naming one."""
    return event["type"] in _ITEM_EVENTS or ("item_id" in event and "output_index" in event)


class ItemLife:
    """What has been told of the item at one output index."""

    def __init__(self, index: int, findings: Findings) -> None:
        self.index = index
        self.added: Json | None = None
        self.final: Json | None = None
        self._findings = findings
        self._parts: dict[tuple[str, object], PartLife] = {}
        self._deltas: list[str] = []
        self._arguments: str | None = None
        self._steps = Steps(index, findings)

    def take(self, event: Json) -> None:
        """Check one event about this item and remember it."""
        kind = event["type"]
        if self.final is not None:
            self._findings.add("S4", f"{kind} for item {self.index} after its output_item.done")
        elif kind == t.OUTPUT_ITEM_ADDED:
            self._add(event)
        elif self.added is None:
            self._findings.add("S4", f"{kind} for item {self.index} before its output_item.added")
        elif kind == t.OUTPUT_ITEM_DONE:
            self._finish(event)
        else:
            self._take_inner(event)

    def check_end(self, output: list[Json]) -> None:
        """Check the item against the terminal response's `output`."""
        if self.final is None:
            self._findings.add("S4", f"item {self.index} has no output_item.done")
            return
        told = output[self.index] if 0 <= self.index < len(output) else None
        self._findings.require(
            told == self.final, "S5", f"output[{self.index}] differs from the item of its output_item.done"
        )

    def _add(self, event: Json) -> None:
        if self.added is not None:
            self._findings.add("S4", f"item {self.index} was added twice")
        self.added = _object(event.get("item"))
        if not self.added.get("id"):
            self._findings.add("S5", f"item {self.index} was added without an id")

    def _take_inner(self, event: Json) -> None:
        kind = event["type"]
        known, named = (self.added or {}).get("id"), event.get("item_id")
        self._findings.require(
            named == known, "S5", f"{kind} names {named!r}, but item {self.index} is {known!r}"
        )
        self._steps.take(kind, self.added or {})
        if kind in _ARGUMENTS_DELTAS:
            if self._arguments is not None:
                self._findings.add("S7", f"arguments of item {self.index} go on after they were done")
            self._deltas.append(str(event.get("delta", "")))
        elif kind in _ARGUMENTS_DONES:
            self._arguments_done(event)
        elif kind in PART_EVENTS:
            self._part(event).take(event)

    def _arguments_done(self, event: Json) -> None:
        if self._arguments is not None:
            self._findings.add("S7", f"arguments of item {self.index} were done twice")
        self._arguments = str(event.get("arguments"))
        self._findings.require(
            self._arguments == "".join(self._deltas),
            "S7",
            f"the argument deltas of item {self.index} do not add up to its arguments.done",
        )

    def _part(self, event: Json) -> PartLife:
        field = "summary" if "summary_index" in event else "content"
        index = event.get(f"{field}_index")
        where = f"{field}[{index}] of item {self.index}"
        return self._parts.setdefault((field, index), PartLife(where, self._findings))

    def _finish(self, event: Json) -> None:
        final = self.final = _object(event.get("item"))
        added = self.added or {}
        for name in ("id", "type"):
            self._findings.require(
                final.get(name) == added.get(name), "S5", f"the {name} of item {self.index} changed"
            )
        self._check_parts(final)
        self._steps.check_end(final)
        if final.get("type") == "function_call":
            self._check_names(added, final, "call_id", "name")
            self._check_arguments(final)
        elif has_arguments(str(final.get("type"))):
            self._check_names(added, final, "server_label", "name")
            self._check_arguments(final)

    def _check_parts(self, final: Json) -> None:
        held: dict[tuple[str, object], Json] = {
            (field, index): part
            for field in ("content", "summary")
            if final.get("type") in ("message", "reasoning")
            for index, part in enumerate(final.get(field) or ())
        }
        for key, life in self._parts.items():
            life.check_end(held.pop(key, None))
        for field, index in held:
            self._findings.add("S6", f"{field}[{index}] of item {self.index} was never told by events")

    def _check_names(self, added: Json, final: Json, *names: str) -> None:
        for name in names:
            steady = bool(final.get(name)) and final.get(name) == added.get(name)
            self._findings.require(steady, "S7", f"the {name} of item {self.index} is empty or changed")

    def _check_arguments(self, final: Json) -> None:
        if self._arguments is None and final.get("status") != "incomplete":
            self._findings.add("S7", f"item {self.index} has no event that its arguments are done")
        self._findings.require(
            final.get("arguments") == "".join(self._deltas),
            "S7",
            f"the argument deltas of item {self.index} do not add up to its arguments",
        )


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
