"""Padding for streamed deltas, so that their sizes do not tell what is said.

Whoever watches an encrypted stream sees how long each event is, and so the length of each token.
Specification: `stream_options.include_obfuscation`, the field `obfuscation` of delta events.
"""

import base64
import hashlib

from responses_api.protocol import event_types as t
from responses_api.protocol.sse import decode, encode, frames_to_data, numbered_frame

_BLOCK = 16
_SPREAD = 32
_MOST = _BLOCK + _SPREAD


def padding(response_id: str, sequence_number: int, size: int) -> str:
    """Characters for an event of `size` bytes: they fill it to a multiple of 16 and add up to 31 more.

    They follow from the response's id, which nobody can guess, and the event's number, so that an event that is told
    again is the same. They are ASCII and need no escape in JSON; a repeated character would be compressed away.
    """
    drawn = hashlib.shake_128(f"{response_id} {sequence_number}".encode()).digest(1 + _MOST)
    length = -size % _BLOCK + drawn[0] % _SPREAD
    return base64.urlsafe_b64encode(drawn[1:])[:length].decode()


def padded(body: bytes, response_id: str, sequence_number: int) -> bytes:
    """A delta event as JSON, not numbered, with its padding as its last field."""
    filling = padding(response_id, sequence_number, len(body))
    return b'%b,"obfuscation":"%b"}' % (body[:-1], filling.encode())


def with_padding(frame: bytes, response_id: str, *, is_wanted: bool) -> bytes:
    """A frame of a stream, padded or not whatever it was."""
    kind = frame[: frame.index(b"\n")].removeprefix(b"event: ").decode()
    if kind not in t.PADDED_TYPES:
        return frame
    event = decode(next(frames_to_data(frame)))
    number = event.pop("sequence_number")
    event.pop("obfuscation", None)
    body = encode(event)
    return numbered_frame(kind, padded(body, response_id, number) if is_wanted else body, number)
