"""The function calls of one answer: each is held until it is named, judged, and then told as it grows."""

from collections.abc import Callable, Hashable, Iterable
from typing import Final

from responses_api.protocol import events, ids
from responses_api.protocol.errors import model_error
from responses_api.protocol.event_types import FUNCTION_CALL_ARGUMENTS_DELTA
from responses_api.protocol.wording import safe_text
from workers.backends.parts import CallDelta
from workers.backends.text import NOTHING
from workers.frames import Frames
from workers.items import Call
from workers.rulings import Rulings

_LONGEST_CALL_ID: Final = 64
_NO_ARGUMENTS: Final = "{}"


class Calls:
    """The calls as their upstream tells them, side by side.

    `open_call` gives a call that may be told its place among the items, and announces it.
    """

    def __init__(
        self, frames: Frames, rulings: Rulings, new_id: ids.IdFactory, open_call: Callable[[Call], None]
    ) -> None:
        self._frames = frames
        self._rulings = rulings
        self._new_id = new_id
        self._open_call = open_call
        self._calls: dict[Hashable, Call] = {}
        self._ids: set[str] = set()

    def feed(self, delta: CallDelta) -> None:
        """More of a call. Raises `ProtocolError` for one that may not be, or that makes no sense."""
        call = self._calls.get(delta.key)
        if call is None:
            call = self._calls[delta.key] = Call()
        if call.id:
            self._grow(call, delta.arguments)
            return
        call.call_id = call.call_id or delta.call_id or ""
        call.name = call.name or delta.name or ""
        call.held.append(delta.arguments)
        if call.call_id and call.name:
            self._announce(call)

    def end_round(self) -> None:
        """An answer has ended: its upstream's names for its calls say nothing of the next one's."""
        self._calls.clear()

    def take_up(self, ids: Iterable[str]) -> None:
        """The call ids that another attempt told."""
        self._ids.update(ids)

    def announce_late(self, *, cut_short: bool) -> None:
        """Calls whose id never came get one; without a name there is no call, which only a cut excuses. Raises
        `ProtocolError`.
        """
        for call in self._calls.values():
            if call.id:
                continue
            if call.name:
                self._announce(call)
            elif not cut_short:
                raise model_error("The model made a function call without naming the function.")

    def close(self, call: Call, status: str) -> None:
        """A call has ended: tell the rest of its arguments, and that they are done."""
        self._tell(call, call.arguments.flush())
        if status == "completed" and not str(call.arguments):
            # A call of a function without parameters: clients parse the arguments, and "" is not JSON.
            self._tell(call, call.arguments.push(_NO_ARGUMENTS))
        self._frames.tell(events.function_call_arguments_done(call.id, call.index, str(call.arguments)))

    def _announce(self, call: Call) -> None:
        call.call_id, call.name = safe_text(call.call_id), safe_text(call.name)
        verdicts = self._rulings.admit(call.name)
        # A second call under an id that is taken could never be answered: it gets its own.
        if not call.call_id or len(call.call_id) > _LONGEST_CALL_ID or call.call_id in self._ids:
            call.call_id = self._new_id("call")
        self._ids.add(call.call_id)
        self._rulings.tell(call.name, call.call_id, verdicts)
        self._open_call(call)
        held, call.held = "".join(call.held), []
        self._grow(call, held)

    def _grow(self, call: Call, arguments: str) -> None:
        if not arguments or call.has_said(arguments):
            return
        if call.done is not None:
            raise model_error("The model went on with a function call that it had already ended.")
        self._tell(call, call.arguments.push(arguments))

    def _tell(self, call: Call, added: bytes) -> None:
        if added != NOTHING:
            cut = (call.index, call.arguments.last_length, 0)
            self._frames.tell_delta(FUNCTION_CALL_ARGUMENTS_DELTA, call.delta_head + added + b"}", cut)
