"""The calls of one round that the service runs by itself, taken out of the model's answer before anybody is told of it.

Nobody behind it sees them as calls: what becomes of them is told by receipts, once the answer has ended.
"""

from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from responses_api.protocol.errors import model_error
from responses_api.protocol.wording import safe_text
from workers.backends.parts import (
    AnnotationReport,
    CallDelta,
    ForeignItem,
    Part,
    ReasoningDelta,
    RefusalDelta,
    Stop,
    SummaryDelta,
    TextDelta,
    UsageReport,
)
from workers.items import Call
from workers.tools.citing import Citing

_KEYED: Final = (
    TextDelta,
    RefusalDelta,
    ReasoningDelta,
    SummaryDelta,
    CallDelta,
    AnnotationReport,
    ForeignItem,
)
# No model means as many.
_MOST_CALLS: Final = 256


class Collector:
    """Reads the answer of one round. `names` are the functions that the service runs; `number` counts the rounds from
    0: each answer numbers its parts anew, and they must not be taken for those of the one before. `collected` takes the
    names of the calls, as soon as they are heard; `summed` makes of what this answer used what all have used so far.
    What the model cites is placed by `citing`.
    """

    def __init__(
        self,
        names: Container[str],
        number: int,
        *,
        collected: list[str],
        summed: Callable[[UsageReport], UsageReport],
        citing: Citing,
    ) -> None:
        self.stop: Stop | None = None
        """Why the answer ended; held back, for it may not be the response's end."""
        self.usage: UsageReport | None = None
        self.is_usage_last = False
        """Whether nothing was said after the usage was told."""
        self._names = names
        self._number = number
        self._collected = collected
        self._summed = summed
        self._citing = citing
        self._calls: dict[Hashable, Call] = {}
        self._held: dict[Hashable, list[Part]] = {}
        self._passed: set[Hashable] = set()

    @property
    def calls(self) -> list[Call]:
        """The calls that are to be run, in the order in which they were named."""
        return list(self._calls.values())

    def take(self, parts: Sequence[Part]) -> Sequence[Part]:
        """The parts that are told as ever. Raises `ProtocolError` for calls without end."""
        return self._citing.placed([passed for part in parts for passed in self._take(part)])

    def rest(self) -> Sequence[Part]:
        """The parts of calls that were never named, once the answer has ended: whoever is behind deals with them."""
        held, self._held = self._held, {}
        for call in self._calls.values():
            call.arguments.flush()
        return [*self._citing.rest(), *(part for parts in held.values() for part in parts)]

    def _take(self, part: Any) -> Iterator[Part]:
        if type(part) is UsageReport:
            self.usage, self.is_usage_last = part, True
            yield self._summed(part)
            return
        if type(part) is Stop:
            self.stop = part
            return
        self.is_usage_last = False
        if self._number and type(part) in _KEYED:
            part = replace(part, key=(self._number, part.key))
        if type(part) is CallDelta:
            yield from self._take_call(part)
        else:
            yield part

    def _take_call(self, delta: CallDelta) -> Iterator[Part]:
        if delta.key in self._passed:
            yield delta
        elif delta.key in self._calls:
            self._grow(self._calls[delta.key], delta)
        elif not delta.name:
            self._held.setdefault(delta.key, []).append(delta)
        else:
            held: list[Any] = self._held.pop(delta.key, [])
            name = safe_text(delta.name)
            if name in self._names:
                self._begin(name, [*held, delta])
            else:
                self._passed.add(delta.key)
                yield from (*held, delta)

    def _begin(self, name: str, deltas: Sequence[CallDelta]) -> None:
        if len(self._calls) == _MOST_CALLS:
            raise model_error(f"The model made more than {_MOST_CALLS} calls in one answer.")
        call = self._calls[deltas[-1].key] = Call()
        call.name = name
        self._collected.append(name)
        for delta in deltas:
            self._grow(call, delta)

    def _grow(self, call: Call, delta: CallDelta) -> None:
        if delta.arguments and not call.has_said(delta.arguments):
            call.arguments.push(delta.arguments)
