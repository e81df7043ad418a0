"""What clients read of this service's own faults, in every transport."""

from typing import Final

from responses_api.protocol.errors import ProtocolError, invalid_request, overloaded, server_error

STOPPED: Final = overloaded("The server is being stopped; ask again.", retry_after=None)
"""This process ends, and what it was asked with it."""

KEY_ENDED: Final = invalid_request(
    "The API key is no longer valid: it was revoked or has expired, or its tenant was switched off.",
    code="invalid_api_key",
    status=401,
)
"""What runs with a key is ended with it."""

ENDINGS: Final = {"stopped": STOPPED, "key_ended": KEY_ENDED}
"""Why a web process asks a worker to end a response now, by the word on the bus."""


def ending_of(error: ProtocolError) -> str:
    """The word on the bus that asks for an end with this error, one of `ENDINGS`."""
    return next(word for word, known in ENDINGS.items() if known is error)


def internal_error() -> ProtocolError:
    """A fault of our own; the log has the rest, under the request's id."""
    return server_error(
        "The server failed to answer; the request id in X-Request-ID finds the cause in its log."
    )
