"""The last words of a response whose worker cannot say them any more."""

from collections.abc import Iterable, Sequence

from responses_api.eventlog.message import Kind, Message
from responses_api.protocol import events
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import encode, frame


def failed(so_far: Json, error: ProtocolError) -> Json:
    """The snapshot of a response that failed with `error` after it had come as far as `so_far`."""
    return {**so_far, "status": "failed", "error": error.snapshot_error(), "completed_at": None}


def failure(closing: Iterable[Json], final: Json, error: ProtocolError, next_sequence: int) -> Message:
    """The last message of a stream that had begun: `error`, then `response.failed` with the snapshot `final`.

    `closing` are the events, not numbered, that close what the stream left open.
    """
    return last_events([*closing, events.error(error.payload()), events.terminal(final)], next_sequence)


def last_events(told: Sequence[Json], next_sequence: int) -> Message:
    """The last message of a stream, of these events; they get their numbers here."""
    frames = [
        frame(event["type"], encode({**event, "sequence_number": next_sequence + place}))
        for place, event in enumerate(told)
    ]
    return Message(Kind.END, next_sequence, next_sequence + len(told), b"".join(frames))


def refusal(error: ProtocolError) -> Message:
    """The only message of a response of which nothing was told."""
    return Message(Kind.REJECT, 0, 0, encode(error.to_plain()))
