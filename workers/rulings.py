"""Rulings: which calls of one response were told and which were left out, and what decided about each. Pure."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from responses_api.protocol.admission import Judgement
from responses_api.protocol.errors import model_error
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Verdict, denying
from workers.backends.parts import RefusedCall

# No model means as many.
_MOST_LEFT_OUT: Final = 256


Judged = Callable[[Json], tuple[str, Sequence[Verdict]] | None]
"""Says of an item which tool the model called by it, and what the tool policies say; None where it tells no call."""


class Admission(Protocol):
    """Which calls may be told. `called` are the names of those that were, in order, `refused` of those left out."""

    def judge(self, name: str, called: Sequence[str], ran: int = 0) -> Judgement:
        """Judge a call before any event shows it; `ran` counts the items of tools that the upstream runs."""

    def judge_item(self, item: Json, told: int) -> Judgement:
        """Judge an item of a tool that the upstream runs before any event shows it; `told` calls were before it."""

    def check_finished(self, called: Sequence[str], refused: Sequence[str] = ()) -> None:
        """Judge the calls of an answer that was not cut short. Raises `ProtocolError`."""


class Rulings:
    """The calls of one answer, as an admission judges them; without one all may be told."""

    def __init__(self, admission: Admission | None) -> None:
        self._admission = admission
        self._called: list[str] = []
        self._ran: list[str] = []
        self._left_out: list[str] = []
        self._decisions: list[Json] = []

    @property
    def told(self) -> int:
        """How many calls were told: of functions, and of tools that the backend or the service runs."""
        return len(self._called) + len(self._ran)

    @property
    def decisions(self) -> list[Json]:
        """Which rule of which tool policy let or refused each call; empty where none is in force, or nothing called."""
        return self._decisions

    def admit(self, name: str) -> Sequence[Verdict]:
        """Judge a call that is to be told; the verdicts that let it. Raises `ProtocolError` for one that may not be."""
        judgement = (
            self._admission.judge(name, self._called, len(self._ran)) if self._admission else Judgement()
        )
        if judgement.error is not None:
            self._decide(name, None, judgement.verdicts)
            raise judgement.error
        return judgement.verdicts

    def tell(self, name: str, call_id: str, verdicts: Sequence[Verdict]) -> None:
        """A call that was admitted is told now, under this id."""
        self._called.append(name)
        self._decide(name, call_id, verdicts)

    def tell_item(self, item: Json) -> None:
        """An item of a tool that the upstream runs is told now. Raises `ProtocolError` for one that may not be."""
        judgement = self._admission.judge_item(item, self.told) if self._admission else Judgement()
        self._decide(item["type"], None, judgement.verdicts)
        if judgement.error is not None:
            raise judgement.error
        self._ran.append(item["type"])

    def take_up(self, items: Iterable[Json], judged: Judged) -> None:
        """Items that another attempt told; `judged` says which of them tell a call that was run."""
        for item in items:
            if item["type"] == "function_call":
                judgement = self._admission.judge(item["name"], ()) if self._admission else Judgement()
                self.tell(item["name"], item["call_id"], judgement.verdicts)
            elif (ran := judged(item)) is not None:
                self.tell_ran(ran[0], item["id"], ran[1])

    def tell_ran(self, name: str, item_id: str, verdicts: Sequence[Verdict]) -> None:
        """A call that the service runs, or was denied to run, is told now by the receipt with this id."""
        (self._left_out if denying(verdicts) else self._ran).append(name)
        self._decide(name, item_id, verdicts)

    def judged_again(self, name: str, item_id: str, verdicts: Sequence[Verdict]) -> None:
        """A call that was told was judged once more before it was run: that is what decided about it."""
        self._decisions = [decision for decision in self._decisions if decision["call_id"] != item_id]
        self._decide(name, item_id, verdicts)

    def leave_out(self, refused: RefusedCall) -> Json:
        """A call was left out; what the response tells of all that were. Raises `ProtocolError` for too many."""
        if len(self._left_out) >= _MOST_LEFT_OUT:
            raise model_error(f"The model made more than {_MOST_LEFT_OUT} calls that are not allowed.")
        self._left_out.append(refused.name)
        self._decide(refused.name, None, refused.verdicts)
        told = [
            {name: value for name, value in decision.items() if name not in ("call_id", "effect")}
            for decision in self._decisions
            if decision["effect"] == "deny" and decision["call_id"] is None
        ]
        return {"refused_calls": told}

    def check_finished(self) -> None:
        """Judge the calls of an answer that was not cut short. Raises `ProtocolError`."""
        if self._admission is not None:
            self._admission.check_finished([*self._called, *self._ran], self._left_out)

    def _decide(self, name: str, call_id: str | None, verdicts: Sequence[Verdict]) -> None:
        """Record what decided about a call; one that is not told has no id."""
        self._decisions += [{"tool": name, "call_id": call_id, **verdict.to_plain()} for verdict in verdicts]
