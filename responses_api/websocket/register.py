"""The connections of this process, so that all of them can be ended in order when it is stopped."""

from typing import Final

from responses_api.websocket.connection import RESTART, Connection

_open: Final[set[Connection]] = set()


def add(connection: Connection) -> None:
    """A connection was opened."""
    _open.add(connection)


def discard(connection: Connection) -> None:
    """A connection is closed."""
    _open.discard(connection)


def drain() -> None:
    """Let no connection begin anything new, and close each one when its response has ended."""
    for connection in tuple(_open):
        connection.end(RESTART)
