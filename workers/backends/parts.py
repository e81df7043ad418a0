"""What an adapter feeds the emitter: the pieces of an answer, freed of the upstream's wire format.

`key` is the upstream's own name for the piece that grows (an index, an id, a field name): parts with an equal
key belong together. Adapters never think about items, indexes or events; the emitter never about an upstream.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Verdict
from responses_api.protocol.response import usage

StopReason = Literal["stop", "length", "content_filter", "tool_calls"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer's text. `logprobs` are `LogProb` objects of the specification, one a token."""

    key: Hashable
    text: str
    logprobs: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """More of the model's own refusal."""

    key: Hashable
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More raw reasoning."""

    key: Hashable
    text: str


@dataclass(frozen=True, slots=True)
class SummaryDelta:
    """More of a summary of the reasoning."""

    key: Hashable
    text: str


SpokenDelta: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta | SummaryDelta
"""More of a message or of reasoning."""


@dataclass(frozen=True, slots=True)
class StateReport:
    """What the upstream wants back with the reasoning before it when the conversation goes on, e.g. signatures.

    Only the adapter knows what is in `state`; to everybody else it is a secret. It must be plain JSON that `orjson`
    can write. It comes before whatever ends the reasoning; alone, it is reasoning of which nothing is told.
    """

    state: Json


@dataclass(frozen=True, slots=True)
class Compacted:
    """The summary that stands for a conversation from now on. Made by `workers.compaction`, by no adapter."""

    summary: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """Something about a function call: its id, its name or more of its arguments, in whatever order they
    come.

    None and "" both mean "not told here". A repeated id or name says nothing new.
    """

    key: Hashable
    call_id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class AnnotationReport:
    """An annotation of the text with this key, as its upstream told it; the emitter decides what can be shown.

    With a `length` it says nothing of its place: it is of the last so many characters that were told.
    """

    key: Hashable
    annotation: Json
    length: int | None = None


@dataclass(frozen=True, slots=True)
class ForeignItem:
    """An item of a type that only its upstream knows (`protocol.passthrough`), under the id that it has there.

    Told once when it begins and, `is_done`, once when it is whole; the second alone will do.
    """

    key: Hashable
    item: Json
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that was left out, and the verdicts that refuse it. Made by `workers.screening`, by no adapter."""

    name: str
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """An item of a tool that the service runs by itself, as it stands now. Made by `workers.tools`, by no adapter.

    `item` has its canonical type (`protocol.server_tools`) and all its fields but `id`, and `status` only where its
    type has one: "in_progress", "completed", "incomplete" or "failed". The first with a `key` announces it, the last
    (`is_done`) ends it; each may tell a `step` that it has come to (`in_progress`, `searching`, `completed`, `failed`),
    which is an event of its own. Of a type with `arguments` these are whole from the first on.

    Of the first, `called` names the function that the model called, where it is a call's, and `verdicts` are what tool
    policies said of it; a call that one of them denies was not run. A later one has both where it was judged again.
    """

    key: Hashable
    item: Json
    step: str | None = None
    is_done: bool = False
    called: str | None = None
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundEnd:
    """The model has said all that it says before its calls are run: what is open is done. Made by `workers.rounds`, in
    the place of the `Stop` of every answer but the last.
    """


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Token counts as far as the upstream told them, from 0 to 2**53; each report replaces the one before."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int | None = None

    def plus(self, other: "UsageReport") -> "UsageReport":
        """What two calls cost together."""
        return UsageReport(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self._total + other._total,
        )

    def to_usage(self) -> Json:
        """The counts as a response shows them."""
        return usage(
            self.input_tokens,
            self.output_tokens,
            cached_tokens=self.cached_tokens,
            reasoning_tokens=self.reasoning_tokens,
            total_tokens=self.total_tokens,
        )

    @property
    def _total(self) -> int:
        return self.input_tokens + self.output_tokens if self.total_tokens is None else self.total_tokens


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the model stopped. The last part of an answer that was not cut off."""

    reason: StopReason

    @property
    def is_cut_short(self) -> bool:
        """Whether the model would have gone on."""
        return self.reason in ("length", "content_filter")


Part: TypeAlias = (
    TextDelta
    | RefusalDelta
    | ReasoningDelta
    | SummaryDelta
    | StateReport
    | CallDelta
    | AnnotationReport
    | ForeignItem
    | Compacted
    | RefusedCall
    | Receipt
    | RoundEnd
    | UsageReport
    | Stop
)
