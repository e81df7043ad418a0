"""What HTTP said in the course of one call. The SDK tells its callers errors of JSON-RPC only, and makes one up where
the server sent none, so that a 401 and a 503 look alike.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(slots=True)
class Exchange:
    """The status of the answer to the call's own request, and what went wrong with the network."""

    status: int | None = None
    failure: BaseException | None = None


_current: Final[ContextVar[Exchange | None]] = ContextVar("mcp_exchange", default=None)


@contextmanager
def watched() -> Iterator[Exchange]:
    """The exchange of the call that is made within. The SDK sends each request in the context of who asks for it."""
    exchange = Exchange()
    token = _current.set(exchange)
    try:
        yield exchange
    finally:
        _current.reset(token)


def current_exchange() -> Exchange | None:
    """The exchange of the call that this code is run for."""
    return _current.get()
