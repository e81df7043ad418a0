"""The one exception that becomes an error on the wire, in every transport.

Specification: "Errors" (five types, one body shape) and the `error` streaming event.
"""

import math
from collections.abc import Mapping
from typing import Final, Literal, cast

from responses_api.protocol.plain import Json

ErrorType = Literal["invalid_request", "not_found", "too_many_requests", "server_error", "model_error"]
_LONGEST_WAIT_SECONDS: Final = (
    86400.0  # an upstream's word; a longer wait is no advice, and 1e300 not a header
)
_USUAL_WAIT_SECONDS: Final = 1.0


class ProtocolError(Exception):
    """A refusal or failure as the client will read it.

    `status` is the HTTP status; `retry_after` is in seconds and only advises. `message` is written for the
    client: never put credentials, addresses or an upstream's raw answer into it.
    """

    def __init__(
        self,
        *,
        status: int,
        type: ErrorType,
        message: str,
        code: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type: ErrorType = type
        self.code = code
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self._headers: dict[str, str] = {}
        self.reason: str | None = None
        """What the log is told besides, and no client ever: which status, which variable, which exception."""
        self.upstream_status: int | None = None
        """The status that a backend answered with, where it is why; no client is told it."""

    def because(self, reason: str) -> "ProtocolError":
        """The same error with its `reason`."""
        self.reason = reason
        return self

    def after_status(self, status: int) -> "ProtocolError":
        """The same error, which a backend's answer with this status led to."""
        self.upstream_status = status
        return self.because(f"the backend answered with status {status}")

    def anew(self) -> "ProtocolError":
        """Another one that says the same. What is raised keeps the frames that it came through, and what they hold, for
        as long as it lives: an error that lives for ever is not raised itself.
        """
        return ProtocolError.from_plain(self.to_plain())

    def adding(self, *sentences: str) -> "ProtocolError":
        """Another one that says these, too: the same in all else, what no client is told included."""
        said = " ".join((self.message, *sentences))
        other = ProtocolError.from_plain({**self.to_plain(), "message": said}).with_headers(self._headers)
        other.reason, other.upstream_status = self.reason, self.upstream_status
        return other

    def with_headers(self, headers: Mapping[str, str]) -> "ProtocolError":
        """The same error, answered with these headers too; they do not cross a process boundary."""
        self._headers.update(headers)
        return self

    def __repr__(self) -> str:
        return f"ProtocolError({self.status} {self.type} {self.code} {self.param!r}: {self.message})"

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions pickle by positional arguments, which this one does not take.
        return (ProtocolError.from_plain, (self.to_plain(),))

    def body(self) -> Json:
        """The JSON body of an HTTP error."""
        return {
            "error": {
                "message": self.message,
                "type": self.type,
                "param": self.param,
                "code": self.code,
            }
        }

    def headers(self) -> dict[str, str]:
        """The HTTP headers that go with the error. A limit always says when to come back, even where nobody told us."""
        headers: dict[str, str] = {}
        wait = self.retry_after
        if wait is None and self.status == 429:
            wait = _USUAL_WAIT_SECONDS
        if wait is not None:
            headers["Retry-After"] = str(math.ceil(min(max(0.0, wait), _LONGEST_WAIT_SECONDS)))
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return headers | self._headers

    @property
    def field(self) -> str | None:
        """The field that `param` is in, for the log: the keys below it are the client's choice, so content."""
        return None if self.param is None else self.param.replace("[", ".").partition(".")[0]

    def payload(self) -> Json:
        """The `error` object inside an `error` streaming event."""
        return {"type": self.type, "code": self.code, "message": self.message, "param": self.param}

    def snapshot_error(self) -> Json:
        """The `error` field of a failed response, where `code` may not be null."""
        return {"code": self.code or self.type, "message": self.message}

    def to_plain(self) -> Json:
        """Every field as JSON, to cross a process boundary."""
        return {
            "status": self.status,
            "type": self.type,
            "code": self.code,
            "message": self.message,
            "param": self.param,
            "retry_after": self.retry_after,
        }

    @staticmethod
    def from_plain(plain: Json) -> "ProtocolError":
        """The inverse of `to_plain`."""
        return ProtocolError(
            status=plain["status"],
            type=cast(ErrorType, plain["type"]),
            code=plain["code"],
            message=plain["message"],
            param=plain["param"],
            retry_after=plain["retry_after"],
        )


_STATUSES: dict[ErrorType, int] = {
    "invalid_request": 400,
    "not_found": 404,
    "too_many_requests": 429,
    "server_error": 500,
    "model_error": 500,
}


def told_error(payload: Json) -> ProtocolError:
    """The error that was told in a stream as `payload`, with the status that its type mostly has."""
    kind = cast(ErrorType, payload["type"])
    return ProtocolError(
        status=_STATUSES[kind],
        type=kind,
        message=payload["message"],
        code=payload["code"],
        param=payload["param"],
    )


def invalid_request(
    message: str, param: str | None = None, code: str | None = None, status: int = 400
) -> ProtocolError:
    """The request cannot be served as it is; `param` is the path of the field to change."""
    return ProtocolError(status=status, type="invalid_request", message=message, param=param, code=code)


def not_found(message: str, param: str | None = None, code: str | None = None) -> ProtocolError:
    """No such object for this caller: unknown, deleted and somebody else's read alike."""
    return ProtocolError(status=404, type="not_found", message=message, param=param, code=code)


def too_many_requests(
    message: str, code: str = "rate_limit_exceeded", retry_after: float | None = None
) -> ProtocolError:
    """A limit was hit; the message names it. `retry_after` in seconds."""
    return ProtocolError(
        status=429, type="too_many_requests", message=message, code=code, retry_after=retry_after
    )


def server_error(
    message: str, code: str | None = None, status: int = 500, retry_after: float | None = None
) -> ProtocolError:
    """A fault of this service: 500, or 503 when trying again later may help."""
    return ProtocolError(
        status=status, type="server_error", message=message, code=code, retry_after=retry_after
    )


def overloaded(message: str, retry_after: float | None = 1) -> ProtocolError:
    """503: what the request needs has no capacity, or does not answer; `retry_after` is in seconds."""
    return server_error(message, code="overloaded", status=503, retry_after=retry_after)


def model_error(
    message: str, code: str = "upstream_error", status: int = 500, retry_after: float | None = None
) -> ProtocolError:
    """The model or the backend that serves it failed."""
    return ProtocolError(
        status=status, type="model_error", message=message, code=code, retry_after=retry_after
    )
