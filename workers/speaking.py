"""What a model says in one answer, its messages and its reasoning: runs of parts, of which the last one grows."""

from collections.abc import Callable, Hashable

from responses_api.protocol import events
from responses_api.protocol.citations import placed_annotation
from responses_api.protocol.content import url_citation
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.plain import Json
from workers.backends.parts import AnnotationReport, SpokenDelta, StateReport, TextDelta
from workers.backends.text import NOTHING
from workers.frames import Frames
from workers.items import PartKind, Spoken, SpokenPart, part_kinds


class Speech:
    """The message or the reasoning that is open, one at most: `item`.

    `open_item` makes one of a type and announces it, which ends whatever is open.
    """

    def __init__(self, frames: Frames, dialect: Dialect, open_item: Callable[[str], Spoken]) -> None:
        self.item: Spoken | None = None
        self.kinds = part_kinds(dialect)
        """The kinds of parts, by the deltas that they grow by."""
        self._frames = frames
        self._dialect: Dialect = dialect
        self._open_item = open_item
        self._text = self.kinds[TextDelta]
        self._part: SpokenPart | None = None

    def feed(self, delta: SpokenDelta) -> None:
        """More of a message or of reasoning."""
        if not delta.text:
            return
        kind = self.kinds[type(delta)]
        part = self._part
        if part is None or part.kind is not kind or part.key != delta.key:
            part = self._open_part(kind, delta.key)
        added = part.text.push(delta.text)
        if type(delta) is TextDelta and delta.logprobs:
            part.logprobs.extend(delta.logprobs)
        if added != NOTHING:
            self._tell_delta(part, added)

    def feed_state(self, report: StateReport) -> None:
        """Keep what the upstream wants back, with the reasoning that it belongs to."""
        item = self.item
        if item is None or item.type != "reasoning":
            item = self._open("reasoning")
        item.states.append(report.state)

    def feed_annotation(self, report: AnnotationReport) -> None:
        """An annotation of the text that grows now; what the specification has no form for is not told."""
        part = self._part
        if part is None or part.key != report.key or part.kind is not self._text:
            return
        annotation = self._shown(report, part)
        if annotation is None:
            return
        part.annotations.append(annotation)
        told = events.output_text_annotation_added(*part.place, len(part.annotations) - 1, annotation)
        self._frames.tell(told)

    def _shown(self, report: AnnotationReport, part: SpokenPart) -> Json | None:
        if report.length is None:
            return url_citation(report.annotation)
        end = len(str(part.text))
        return placed_annotation(report.annotation, end - report.length, end, self._dialect)

    def note_refusal(self) -> None:
        """What is open led to a call that was left out."""
        if self.item is not None:
            self.item.led_to_refusal = True

    def drop_orphaned_state(self) -> None:
        """State that led to nothing but a call that was left out is not kept: whoever gave it would miss the call."""
        if self.item is not None and self.item.led_to_refusal:
            self.item.states.clear()

    def end(self) -> None:
        """The item has ended, and with it its last part."""
        self._close_part()
        self.item = None

    def _open(self, item_type: str) -> Spoken:
        self.item = item = self._open_item(item_type)
        return item

    def _open_part(self, kind: PartKind, key: Hashable) -> SpokenPart:
        item = self.item
        if item is None or item.type != kind.item_type:
            item = self._open(kind.item_type)
        else:
            self._close_part()
        part = item.add_part(kind, key)
        self._frames.tell(kind.added(*part.place, part.shape()))
        self._part = part
        return part

    def _close_part(self) -> None:
        part, self._part = self._part, None
        if part is None:
            return
        rest = part.text.flush()
        if rest != NOTHING:
            self._tell_delta(part, rest)
        self._frames.tell(part.kind.done(*part.place, str(part.text), **part.extra()))
        self._frames.tell(part.kind.closed(*part.place, part.shape()))

    def _tell_delta(self, part: SpokenPart, text: bytes) -> None:
        logprobs = part.untold_logprobs()
        cut = (part.index, part.text.last_length, len(logprobs))
        self._frames.tell_delta(part.delta_type, part.delta(text, logprobs), cut)
