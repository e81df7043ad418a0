"""The last words of a response whose worker cannot say them any more."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from responses_api.eventlog.message import Kind, Message
from responses_api.protocol import events
from responses_api.protocol.closing import closing
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.fold import fold
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.score import compose
from responses_api.protocol.sse import encode, numbered_frame
from responses_api.services.charges import told_usage
from responses_api.services.finish import Outcome
from responses_api.services.running import opening


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """The end of a response that was told so far: its snapshot, and the events that are still to be told."""

    job: Job
    final: Json
    told: list[Json]
    rest: list[Json]

    def outcome(self) -> Outcome:
        """What is stored of it, and charged."""
        is_stored = bool(self.job.request["store"])
        score = self.score() if is_stored else None
        used = told_usage(self.job, self.told)
        return Outcome(self.job, self.final, score, used=used, is_stored=is_stored)

    def score(self) -> Json | None:
        """How the whole stream was cut."""
        is_padded = CreateRequest.from_plain(self.job.request).obfuscates
        events_before_last = [*self.told, *self.rest[:-1]]
        return compose(events_before_last, self.final, dialect=self.job.dialect, is_padded=is_padded)

    def last_words(self) -> Message:
        """The last message of its stream."""
        return last_events(self.rest, len(self.told))


def broken_off(job: Job, told: list[Json], error: ProtocolError | None) -> BrokenOff:
    """End what was told of a response, from its first event on: failed with `error`, cancelled where there is none."""
    missing = opening(job)[len(told) :]
    begun = [*told, *missing]
    so_far = fold(begun)
    assert so_far is not None, "a stream begins with a snapshot"
    final = cancelled(so_far) if error is None else failed(so_far, error)
    cause = [] if error is None else [events.error(error.payload())]
    rest = [*missing, *closing(begun, job.dialect), *cause, events.terminal(final)]
    return BrokenOff(job, final, told, rest)


def failed(so_far: Json, error: ProtocolError) -> Json:
    """The snapshot of a response that failed with `error` after it had come as far as `so_far`."""
    return {**so_far, "status": "failed", "error": error.snapshot_error(), "completed_at": None}


def cancelled(so_far: Json) -> Json:
    """The snapshot of a response that was cancelled after it had come as far as `so_far`."""
    return {**so_far, "status": "cancelled", "completed_at": None}


def failure(closing: Iterable[Json], final: Json, error: ProtocolError, next_sequence: int) -> Message:
    """The last message of a stream that had begun: `error`, then `response.failed` with the snapshot `final`.

    `closing` are the events, not numbered, that close what the stream left open.
    """
    return last_events([*closing, events.error(error.payload()), events.terminal(final)], next_sequence)


def last_events(told: Sequence[Json], next_sequence: int) -> Message:
    """The last message of a stream, of these events; they get their numbers here."""
    return numbered(Kind.END, told, next_sequence)


def numbered(kind: Kind, told: Sequence[Json], next_sequence: int) -> Message:
    """A message of these events; they get their numbers here."""
    frames = [
        numbered_frame(event["type"], encode(event), next_sequence + place)
        for place, event in enumerate(told)
    ]
    return Message(kind, next_sequence, next_sequence + len(told), b"".join(frames))


def refusal(error: ProtocolError) -> Message:
    """The only message of a response of which nothing was told."""
    return Message(Kind.REJECT, 0, 0, encode(error.to_plain()))


def answer(body: Json) -> Message:
    """The only message of a request that is answered with one JSON document."""
    return Message(Kind.ANSWER, 0, 0, encode(body))
