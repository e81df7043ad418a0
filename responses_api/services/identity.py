"""Ids and the clock: the impure inputs of the pure core, in one place."""

import os
import re
import time
import uuid
from collections.abc import Mapping
from typing import Final

from responses_api.protocol.ids import ENTROPY_BYTES, build_id

REQUEST_ID_HEADER: Final = "X-Request-ID"
REQUEST_ID_FIELD: Final = REQUEST_ID_HEADER.lower().encode()
"""The same header as ASGI has it."""
_SANE: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def new_id(prefix: str) -> str:
    """A fresh, time-ordered, unguessable id, e.g. `resp_…`."""
    return build_id(prefix, time.time_ns() // 1_000_000, os.urandom(ENTROPY_BYTES))


def now() -> int:
    """The time in unix seconds, as the API shows it."""
    return int(time.time())


def request_id_of(given: str | None) -> str:
    """The id of a request: the client's `X-Request-ID` when it is a sane one, made otherwise."""
    return given if given is not None and _SANE.fullmatch(given) else f"req_{uuid.uuid4().hex}"


def request_id_in(headers: Mapping[bytes, bytes]) -> str:
    """The id of a request with these ASGI headers."""
    given = headers.get(REQUEST_ID_FIELD)
    return request_id_of(given.decode("latin-1") if given else None)
