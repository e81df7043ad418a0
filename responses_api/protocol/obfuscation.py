"""Padding for streamed deltas, so that their sizes do not tell what is said.

Whoever watches an encrypted stream sees how long each event is, and so the length of each token.
Specification: `stream_options.include_obfuscation`, the field `obfuscation` of delta events.
"""

import base64
from collections.abc import Callable

_BLOCK = 16
_SPREAD = 32
_MOST = _BLOCK + _SPREAD


def padding(size: int, entropy: Callable[[int], bytes]) -> str:
    """Random characters for an event of `size` bytes: they fill it to a multiple of 16 and add up to 31 more.

    `entropy` gives that many random bytes. The characters are ASCII and need no escape in JSON; they are random too,
    because a repeated one would be compressed away.
    """
    drawn = entropy(1 + _MOST)
    length = -size % _BLOCK + drawn[0] % _SPREAD
    return base64.urlsafe_b64encode(drawn[1:])[:length].decode()
