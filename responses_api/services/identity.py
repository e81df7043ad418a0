"""Ids and the clock: the impure inputs of the pure core, in one place."""

import os
import time

from responses_api.protocol.ids import ENTROPY_BYTES, build_id


def new_id(prefix: str) -> str:
    """A fresh, time-ordered, unguessable id, e.g. `resp_…`."""
    return build_id(prefix, time.time_ns() // 1_000_000, os.urandom(ENTROPY_BYTES))


def now() -> int:
    """The time in unix seconds, as the API shows it."""
    return int(time.time())
