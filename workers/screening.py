"""The screen between the backend and what is told: calls that are to be left out go no further.

Everything behind it, a second attempt included, sees an answer in which such a call never was. Calls that fail the
response pass: the emitter refuses them.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol

from responses_api.protocol.wording import safe_text
from workers import rulings
from workers.backends.parts import CallDelta, ForeignItem, Part, RefusedCall


class Admission(rulings.Admission, Protocol):
    """Which calls may be told, and whether any may be left out."""

    @property
    def may_suppress(self) -> bool:
        """Whether any refused call may be left out."""


class Screen:
    """Judges the calls of one answer as soon as they are named. Without an `admission` everything passes."""

    def __init__(self, admission: Admission | None) -> None:
        self._admission = admission if admission is not None and admission.may_suppress else None
        self._held: dict[Hashable, list[Part]] = {}
        self._is_refused: dict[Hashable, bool] = {}
        self._called: list[str] = []
        self._ran = 0

    def admitted(self, parts: Sequence[Part]) -> Sequence[Part]:
        """The parts without those of calls that are left out, each of which becomes one `RefusedCall`."""
        if self._admission is None:
            return parts
        return [passed for part in parts for passed in self._pass(self._admission, part)]

    def note(self, ran: int) -> None:
        """So many calls were run by the service itself."""
        self._ran += ran

    def unnamed(self) -> Sequence[Part]:
        """The parts of calls that were never named, once the answer has ended: whoever is behind deals with them."""
        held, self._held = self._held, {}
        return [part for parts in held.values() for part in parts]

    def _pass(self, admission: Admission, part: Any) -> Iterator[Part]:
        if type(part) is ForeignItem:
            yield from self._pass_item(admission, part)
        elif type(part) is not CallDelta:
            yield part
        elif part.key in self._is_refused:
            if not self._is_refused[part.key]:
                yield part
        elif part.name:
            held = self._held.pop(part.key, [])
            refused = self._refused(admission, safe_text(part.name))
            self._is_refused[part.key] = refused is not None
            yield from (refused,) if refused is not None else (*held, part)
        else:
            self._held.setdefault(part.key, []).append(part)

    def _pass_item(self, admission: Admission, part: ForeignItem) -> Iterator[Part]:
        """An item of a tool that the upstream runs: it was judged before that was offered, so this is its own idea."""
        if part.key not in self._is_refused:
            judgement = admission.judge_item(part.item, len(self._called) + self._ran)
            self._is_refused[part.key] = judgement.is_suppressed
            if judgement.is_suppressed:
                yield RefusedCall(part.item["type"], judgement.verdicts)
                return
            self._ran += 1
        if not self._is_refused[part.key]:
            yield part

    def _refused(self, admission: Admission, name: str) -> RefusedCall | None:
        judgement = admission.judge(name, self._called, self._ran)
        if judgement.is_suppressed:
            return RefusedCall(name, judgement.verdicts)
        self._called.append(name)
        return None
