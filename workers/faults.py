"""Ends that a worker gives its jobs for reasons of its own, and the one that it cannot give."""

from typing import Final

from responses_api.protocol.errors import ProtocolError, model_error, server_error

STOPPED: Final = server_error("The worker that generated this response was stopped.", code="worker_lost")
FAILED: Final = server_error("The server failed to generate the response.")
TOO_LONG: Final = model_error("The response took longer than this server allows.", code="upstream_timeout")
DIVERGED: Final = server_error(
    "The worker that generated this response was lost, and another one could not go on with what it had told.",
    code="worker_lost",
)
NOT_STORED: Final = server_error("The response could not be stored.", code="storage_failed")


class HandedBack(Exception):
    """A background response that this worker cannot end; `error` is what it is to end with, None that it may go on."""

    def __init__(self, error: ProtocolError | None = None) -> None:
        super().__init__()
        self.error = error
