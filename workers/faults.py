"""Ends that a worker gives its jobs for reasons of its own."""

from typing import Final

from responses_api.protocol.errors import model_error, server_error

STOPPED: Final = server_error("The worker that generated this response was stopped.", code="worker_lost")
FAILED: Final = server_error("The server failed to generate the response.")
TOO_LONG: Final = model_error("The response took longer than this server allows.", code="upstream_timeout")
