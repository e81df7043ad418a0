"""Padding for streamed deltas, so that their sizes do not tell what is said.

Whoever watches an encrypted stream sees how long each event is, and so the length of each token.
Specification: `stream_options.include_obfuscation`, the field `obfuscation` of delta events.
"""

import base64
import hashlib

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
