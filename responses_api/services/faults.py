"""What clients read of this service's own faults, in every transport."""

from typing import Final

from responses_api.protocol.errors import ProtocolError, overloaded, server_error

STOPPED: Final = overloaded("The server is being stopped; ask again.", retry_after=None)
"""This process ends, and what it was asked with it."""


def internal_error() -> ProtocolError:
    """A fault of our own; the log has the rest, under the request's id."""
    return server_error(
        "The server failed to answer; the request id in X-Request-ID finds the cause in its log."
    )
