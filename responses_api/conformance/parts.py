"""Rule S6: the life of one text, refusal, reasoning or summary part within a stream."""

from dataclasses import dataclass, field

from responses_api.conformance.violations import Findings
from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json

OPENING = {t.CONTENT_PART_ADDED, t.REASONING_SUMMARY_PART_ADDED}
CLOSING = {t.CONTENT_PART_DONE, t.REASONING_SUMMARY_PART_DONE}

# event type -> the part types it may speak of
DELTAS = {
    t.OUTPUT_TEXT_DELTA: ("output_text",),
    t.REFUSAL_DELTA: ("refusal",),
    t.REASONING_DELTA: ("reasoning_text", "text"),
    t.REASONING_TEXT_DELTA: ("reasoning_text", "text"),
    t.REASONING_SUMMARY_TEXT_DELTA: ("summary_text",),
}
DONES = {
    t.OUTPUT_TEXT_DONE: ("output_text",),
    t.REFUSAL_DONE: ("refusal",),
    t.REASONING_DONE: ("reasoning_text", "text"),
    t.REASONING_TEXT_DONE: ("reasoning_text", "text"),
    t.REASONING_SUMMARY_TEXT_DONE: ("summary_text",),
}
PART_EVENTS = OPENING | CLOSING | set(DELTAS) | set(DONES) | {t.OUTPUT_TEXT_ANNOTATION_ADDED}


@dataclass(slots=True)
class PartLife:
    """What has been told of one part; `where` names it in messages."""

    where: str
    findings: Findings
    part: Json | None = None
    deltas: list[str] = field(default_factory=list)
    done: str | None = None
    final: Json | None = None

    def take(self, event: Json) -> None:
        """Check one event about this part and remember it."""
        kind = event["type"]
        if kind in OPENING:
            self._open(event)
        elif self.part is None:
            self.findings.add("S6", f"{kind} for {self.where} before it was added")
        elif self.final is not None:
            self.findings.add("S6", f"{kind} for {self.where} after it was done")
        elif kind in DELTAS:
            self._delta(event)
        elif kind in DONES:
            self._text_done(event)
        elif kind in CLOSING:
            self._close(event)

    def check_end(self, part: Json | None) -> None:
        """Check that the part was finished and is what the finished item holds."""
        if self.final is None:
            self.findings.add("S6", f"{self.where} was never closed by its part's done event")
        self.findings.require(
            part == self.final, "S6", f"{self.where} differs between its done event and its item"
        )

    def _open(self, event: Json) -> None:
        if self.part is not None:
            self.findings.add("S6", f"{self.where} was added twice")
        self.part = _object(event.get("part"))
        self.findings.require(
            not _text(self.part), "S6", f"{self.where} was added with text that no delta told"
        )

    def _delta(self, event: Json) -> None:
        self._check_kind(event, DELTAS[event["type"]])
        if self.done is not None:
            self.findings.add("S6", f"{event['type']} for {self.where} after its text was done")
        self.deltas.append(str(event.get("delta", "")))

    def _text_done(self, event: Json) -> None:
        self._check_kind(event, DONES[event["type"]])
        if self.done is not None:
            self.findings.add("S6", f"the text of {self.where} was done twice")
        self.done = str(event.get("refusal" if event["type"] == t.REFUSAL_DONE else "text"))
        self.findings.require(
            self.done == "".join(self.deltas), "S6", f"the deltas of {self.where} do not add up to its text"
        )

    def _close(self, event: Json) -> None:
        self.final = _object(event.get("part"))
        if self.done is None:
            self.findings.add("S6", f"{self.where} was closed before its text was done")
        self.findings.require(
            _text(self.final) == "".join(self.deltas),
            "S6",
            f"the deltas of {self.where} do not add up to its part",
        )

    def _check_kind(self, event: Json, kinds: tuple[str, ...]) -> None:
        told = (self.part or {}).get("type")
        self.findings.require(told in kinds, "S6", f"{event['type']} for {self.where}, which is a {told}")


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _text(part: Json) -> str:
    return str(part.get("refusal" if part.get("type") == "refusal" else "text", ""))
