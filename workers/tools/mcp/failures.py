"""Why a server gave no result, in words for the client and the model: what failed, and what would help."""

from http import HTTPStatus
from typing import Final

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from responses_api.protocol.egress import EgressError
from workers.tools.mcp.exchange import Exchange

_LONGEST: Final = 2000
_NOT_MCP: Final = "answered with what is not MCP."

_BY_STATUS: Final = {
    HTTPStatus.UNAUTHORIZED: "refuses the credentials (HTTP 401): give it valid ones in 'authorization' or 'headers'.",
    HTTPStatus.FORBIDDEN: "refuses access (HTTP 403): give it other credentials in 'authorization' or 'headers'.",
    HTTPStatus.NOT_FOUND: "has nothing of MCP at this 'server_url' (HTTP 404).",
    HTTPStatus.METHOD_NOT_ALLOWED: "has nothing of MCP at this 'server_url' (HTTP 405).",
    HTTPStatus.TOO_MANY_REQUESTS: "takes no more requests for now (HTTP 429).",
}
_STATUS_DECIDES: Final = frozenset(
    {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}
)


class McpFailure(Exception):
    """What the server did not do; the message completes "The MCP server '…' …". Nothing in it is secret but what the
    server itself said (`McpServer.without_secrets`). `reason` is for the log.

    `ends_connection`: nobody else should be given the same connection. `may_ask_anew`: the server did nothing.
    """

    def __init__(
        self, message: str, *, reason: str = "", ends_connection: bool = False, may_ask_anew: bool = False
    ) -> None:
        super().__init__(message)
        self.reason = reason or message
        self.ends_connection = ends_connection
        self.may_ask_anew = may_ask_anew


def is_final(exchange: Exchange) -> bool:
    """Whether another generation of the protocol would be answered no better."""
    return exchange.failure is not None or exchange.status in _STATUS_DECIDES


def late(seconds: float) -> McpFailure:
    """The server did not answer in time."""
    return McpFailure(f"did not answer within {seconds:g} seconds.", ends_connection=True)


def failure_of(error: BaseException, exchange: Exchange, *, has_session: bool = False) -> McpFailure:
    """What an error of the SDK means, by what HTTP said at that: that first, its own words second."""
    if exchange.failure is not None:
        return _of_network(exchange.failure)
    status = exchange.status or 0
    if status == HTTPStatus.NOT_FOUND and has_session:
        return McpFailure(
            "has lost the session.", reason="HTTP 404 for a session", ends_connection=True, may_ask_anew=True
        )
    if 300 <= status < 400:
        return McpFailure(
            f"sends one on to another address (HTTP {status}), which is not followed: name that one as 'server_url'."
        )
    if status < 400 and isinstance(error, MCPError) and error.message.startswith(_UNREAD):
        return McpFailure(_NOT_MCP, reason=error.message.partition(":")[0])
    words = _words(error)
    if status in _STATUS_DECIDES or (status >= 400 and not words):
        return _of_status(status)
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return McpFailure("closed the connection before it answered.", ends_connection=True)
    if words:
        return McpFailure(f"answered with an error: {words}", reason=f"JSON-RPC error, HTTP {status}")
    if isinstance(error, ValidationError):
        return McpFailure(_NOT_MCP, reason=_fields(error))
    return McpFailure("does not speak MCP as it should.", reason=type(error).__name__)


def _of_network(failure: BaseException) -> McpFailure:
    # What these errors say of a request may quote its headers.
    reason = type(failure).__name__
    if isinstance(failure, EgressError):
        message, reason = f"cannot be used: its address {failure}.", failure.reason or str(failure)
    elif isinstance(failure, httpx2.ConnectTimeout):
        message = "could not be reached in time."
    elif isinstance(failure, httpx2.TimeoutException):
        message = "did not answer in time."
    elif isinstance(failure, httpx2.ConnectError):
        message = "could not be reached."
    else:
        message = "closed the connection before it answered."
    return McpFailure(message, reason=reason, ends_connection=True)


def _of_status(status: int) -> McpFailure:
    told = _BY_STATUS.get(HTTPStatus(status)) if status in set(HTTPStatus) else None
    return McpFailure(
        told or f"failed (HTTP {status}).", reason=f"HTTP {status}", ends_connection=status >= 500
    )


def _words(error: BaseException) -> str:
    """What the server itself said in an error of JSON-RPC, "" for what the SDK made of its silence."""
    if not isinstance(error, MCPError) or error.code == CONNECTION_CLOSED or error.message in _OF_THE_SDK:
        return ""
    message = error.message if len(error.message) <= _LONGEST else error.message[: _LONGEST - 1] + "…"
    return f"{message} (code {error.code})"


_OF_THE_SDK: Final = frozenset({"Server returned an error response", "Not Found", "Session terminated"})
# What stands behind these quotes the answer, in the words of the SDK's parser.
_UNREAD: Final = (
    "Failed to parse JSON response: ",
    "Failed to parse SSE message: ",
    "Unexpected content type: ",
)


def _fields(error: ValidationError) -> str:
    """Where an answer is wrong. What stands there is content."""
    return ", ".join(".".join(map(str, found["loc"])) for found in error.errors(include_input=False)[:5])
