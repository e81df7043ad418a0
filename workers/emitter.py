"""The state machine of one response: adapters feed parts, it opens, grows, closes and folds.

Pure: ids and time are handed in. The rules it keeps (specification, "Streaming"): an item is announced, grows and is
done, in that order and once; at most one message or reasoning item is open, while any number of calls may be; the
snapshot of the terminal event is what the events told.
"""

from collections.abc import Callable, Container, Sequence
from typing import Any

from responses_api.protocol import event_types, events, ids
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import REPORT
from responses_api.protocol.response import shown_output
from responses_api.protocol.truncation import Truncation
from workers.backends.parts import (
    AnnotationReport,
    CallDelta,
    Compacted,
    ForeignItem,
    Part,
    Receipt,
    RefusedCall,
    RoundEnd,
    StateReport,
    Stop,
    UsageReport,
)
from workers.calling import Calls
from workers.foreign import ForeignItems
from workers.frames import Frames, Pad
from workers.items import (
    Call,
    Spoken,
    state_at_a_cut,
    state_at_the_end,
    state_when_broken_off,
)
from workers.output import Output, Seal
from workers.receipts import ReceiptItem, Receipts
from workers.resuming import taken_up
from workers.rulings import Admission, Judged, Rulings
from workers.speaking import Speech

_CUT_SHORT = {"length": "max_output_tokens", "content_filter": "content_filter"}


class Emitter:
    """The events of one response, as SSE frames, and the snapshot they add up to.

    `base` is the snapshot before anything was said; `new_id` makes item ids and missing call ids; `clock` tells unix
    seconds; `admission` judges the calls. `pad` makes padding; without it deltas are not padded. `seal` makes
    `encrypted_content` of what an item of a type must keep to itself; without it no state is kept. `include` are the
    request's wishes, e.g. to be shown that state. A response that is `background` is told to be queued first.

    `start`, `feed` …, then one of `finish`, `fail`, `cancel` fixes `response`; `terminal` afterwards makes
    the last event, so that it can be sent after the response was stored. `drain` gives the frames in between.
    `feed` raises `ProtocolError` when the model broke the rules; the caller answers with `fail`.
    """

    def __init__(
        self,
        base: Json,
        *,
        new_id: ids.IdFactory,
        clock: Callable[[], int],
        dialect: Dialect = "open",
        admission: Admission | None = None,
        pad: Pad | None = None,
        seal: Seal | None = None,
        include: Container[str] = (),
        background: bool = False,
    ) -> None:
        self._base = {**base, "status": "in_progress", "output": []}
        self._clock = clock
        self._rulings = Rulings(admission)
        # As it was told before any worker had it: without what is found out here.
        self._waiting = {**self._base, "status": "queued"} if background else None
        self._dialect: Dialect = dialect
        self._frames = Frames(pad)
        self._output = output = Output(self._frames, new_id, seal=seal, include=include)
        self._speech = Speech(self._frames, dialect, output.open_spoken)
        self._calls = Calls(self._frames, self._rulings, new_id, output.open_call)
        opening: Any = {
            "new_id": new_id,
            "place": output.place,
            "open_item": output.open,
            "close": output.close,
        }
        self._receipts = Receipts(self._frames, dialect, self._rulings, **opening)
        self._foreign = ForeignItems(self._rulings, **opening)
        output.endings = {
            Spoken: lambda item, status: self._speech.end(),
            Call: self._calls.close,
            ReceiptItem: lambda item, status: self._receipts.tell_arguments(item),
        }
        self._keeps_state = seal is not None
        self._include = include
        self._feeders: dict[type, Callable[[Any], None]] = {
            **dict.fromkeys(self._speech.kinds, self._speech.feed),
            StateReport: self._feed_state,
            CallDelta: self._calls.feed,
            AnnotationReport: self._speech.feed_annotation,
            ForeignItem: self._foreign.feed,
            Compacted: self._feed_compacted,
            RefusedCall: self._feed_refused,
            Receipt: self._receipts.feed,
            RoundEnd: self._feed_round_end,
            UsageReport: self._feed_usage,
            Stop: self._feed_stop,
        }
        self._usage: Json | None = None
        self._usage_at = -1
        self._is_usage_last = False
        self._stop: Stop | None = None
        self._final: Json | None = None
        self._error: ProtocolError | None = None
        self._told = False

    # ------------------------------------------------------------------ what came of it

    @property
    def next_sequence(self) -> int:
        """The number that the next event will carry."""
        return self._frames.next

    @property
    def response(self) -> Json:
        """The snapshot now: final after the end, before it with open items as far as they were told."""
        record = self.record
        return {**record, "output": shown_output(record["output"], self._include)}

    @property
    def record(self) -> Json:
        """As `response`, with the state of reasoning whether or not it is shown: what is stored."""
        if self._final is not None:
            return self._final
        return {**self._base, "output": self._output.items, "usage": self._usage}

    @property
    def told_items(self) -> list[Json]:
        """The items that are done, as they are stored: what the conversation goes on with."""
        return self._output.done

    @property
    def told_calls(self) -> int:
        """How many calls were told so far, whoever runs them."""
        return self._rulings.told

    def check_room(self, more: int) -> None:
        """Check that so many items more may be told. Raises `ProtocolError`."""
        self._output.check_room(more)

    def score(self) -> Json | None:
        """How the stream was cut, once it has ended: with the response all that it takes to tell it again."""
        return self._frames.score(self.response, self._dialect)

    @property
    def error(self) -> ProtocolError | None:
        """What the response failed with, if it failed."""
        return self._error

    @property
    def is_usage_last(self) -> bool:
        """Whether the upstream's word on its usage, if there was one, is about all that it said: it came to its own
        end, or was broken off right behind that word.
        """
        return self._stop is not None or self._is_usage_last

    @property
    def decisions(self) -> list[Json]:
        """Which rule of which tool policy let or refused each call; empty where none is in force, or nothing called."""
        return self._rulings.decisions

    def drain(self) -> bytes:
        """The frames made since the last call."""
        return self._frames.drain()

    # ------------------------------------------------------------------ the life of a response

    def truncated(self, truncation: Truncation) -> None:
        """Old turns were dropped from the input: a field of the response from now on, and an event once it started."""
        # A new one: the snapshot that was told before is still to be written down as it was.
        self._base = {**self._base, event_types.TRUNCATION: truncation.to_plain()}
        if self._frames.next:
            self._frames.tell(events.truncation(truncation.to_plain()))

    def start(self) -> None:
        """`response.created`, perhaps `response.queued`, and `response.in_progress`; and what was truncated so far.

        Nothing where another attempt was taken up: it has begun.
        """
        if self._frames.next:
            return
        first = events.waiting(self._waiting) if self._waiting else [events.created(self._base)]
        for event in (*first, events.in_progress(self._base)):
            self._frames.tell(event)
        if event_types.TRUNCATION in self._base:
            self._frames.tell(events.truncation(self._base[event_types.TRUNCATION]))

    def resume(self, told: Sequence[Json], judged: Judged = lambda item: None) -> None:
        """Take up what another attempt told, as many events as `last_round_end` says, in the place of `start`.

        They count as told, with their numbers; what follows goes on behind them. Calls that were being run have failed,
        which is told now. `judged` says what the tool policies say of the calls that were run.
        """
        if not told:
            return
        taken = taken_up(told)
        self._frames.take_up(told)
        self._output.take_up(taken.items)
        if taken.truncation is not None:
            self._base = {**self._base, event_types.TRUNCATION: taken.truncation}
        items = self._output.items
        self._calls.take_up(item["call_id"] for item in items if item["type"] == "function_call")
        self._rulings.take_up(items, judged)
        for receipt in taken.open:
            self._receipts.go_on(receipt, "failed")
            self._output.close(receipt, "failed")

    def feed(self, part: Part) -> None:
        """Take in one part. Raises `ProtocolError` for a call that may not be or that makes no sense."""
        if self._final is not None:
            raise RuntimeError("the response has ended: no part can follow")
        self._feeders[type(part)](part)

    def finish(self) -> None:
        """Close everything: completed, or incomplete when the upstream stopped short.

        A call without a name, one that may not be, or one that had to be and is not, fails the response instead (see
        `error`).
        """
        if not self._may_end():
            return
        if not self._receipts.are_done:
            raise RuntimeError("a receipt is open: it must be done before the response is")
        reason = _CUT_SHORT.get(self._stop.reason) if self._stop else None
        try:
            self._calls.announce_late(cut_short=reason is not None)
            if reason is None:
                self._rulings.check_finished()
        except ProtocolError as error:
            self.fail(error)
            return
        self._speech.drop_orphaned_state()
        self._output.close_open(state_at_a_cut if reason else state_at_the_end)
        if reason:
            self._end("incomplete", incomplete_details={"reason": reason})
        else:
            self._end("completed", completed_at=self._clock())

    def fail(self, error: ProtocolError) -> None:
        """Close what is open as incomplete, tell the error, end as failed.

        Also after `finish`, when the end could not be stored; never after the terminal event was made.
        """
        if not self._may_end():
            return
        self._error = error
        self._output.close_open(state_when_broken_off)
        self._frames.tell(events.error(error.payload()))
        self._end("failed", error=error.snapshot_error())

    def cancel(self) -> None:
        """Close what is open as incomplete and end as cancelled, which is no error."""
        if not self._may_end():
            return
        self._output.close_open(state_when_broken_off)
        self._end("cancelled")

    def terminal(self) -> bytes:
        """The frame of the one terminal event. Raises RuntimeError before the end and the second time."""
        if self._final is None or self._told:
            raise RuntimeError("a response ends once, after its last item")
        self._told = True
        return self._frames.last(events.terminal(self.response))

    def _may_end(self) -> bool:
        """Whether an end is still to come: a failure stands. What was never started begins now."""
        if self._told:
            raise RuntimeError("the terminal event was made: nothing can follow")
        if self._final is None:
            self._is_usage_last = self._usage_at == self._frames.next
        if self._frames.next == 0:
            self.start()
        return self._error is None

    def _end(self, status: str, **fields: Any) -> None:
        # A response that is refused after its end must not keep the marks of that end.
        marks = {"completed_at": None, "incomplete_details": None, "error": None}
        self._final = None
        self._final = {**self.record, **marks, **fields, "status": status}

    def _feed_state(self, report: StateReport) -> None:
        if self._keeps_state:
            self._speech.feed_state(report)

    def _feed_compacted(self, compacted: Compacted) -> None:
        self._output.tell_compaction(compacted.summary)

    # ------------------------------------------------------------------ tool policies

    def _feed_refused(self, refused: RefusedCall) -> None:
        """A call was left out: no event tells it, a field of the response does from now on."""
        report = self._rulings.leave_out(refused)
        # A new one: the snapshot that was told before is still to be written down as it was.
        self._base = {**self._base, REPORT: report}
        self._speech.note_refusal()

    # ------------------------------------------------------------------ the rest

    def _feed_usage(self, report: UsageReport) -> None:
        self._usage, self._usage_at = report.to_usage(), self._frames.next

    def _feed_round_end(self, _: RoundEnd) -> None:
        """The model's answer has ended, and the response goes on. Raises `ProtocolError` for a call without a name."""
        self._calls.announce_late(cut_short=False)
        self._speech.drop_orphaned_state()
        self._output.close_open(state_at_the_end, but=ReceiptItem)
        self._calls.end_round()
        self._foreign.end_round()
        self._stop = None

    def _feed_stop(self, stop: Stop) -> None:
        self._stop = stop
