"""Failures of an upstream as the errors our clients read.

The status decides first, the text second: a 500 that mentions a limit is an outage. An upstream's
credentials, address and raw body never get through; its own words only where they help the caller, cleaned
and cut short.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import aiohttp
import orjson

from responses_api.protocol.errors import (
    ProtocolError,
    invalid_request,
    model_error,
    overloaded,
    too_many_requests,
)
from responses_api.protocol.wording import safe_text
from workers.backends import rpc

_OVERLOADED = 529
"""Not in any standard; several model vendors answer it when they have no capacity."""

_LATE = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT)
_STATUS_DIGITS = 3
_MESSAGE_LIMIT = 300
_SCANNED_LIMIT = 2_000

_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|too many (input )?tokens|n_ctx"
    r"|(input|prompt)( tokens?)? .{0,40}exceeds?|exceeds? .{0,40}context",
    re.IGNORECASE,
)

_UNPAID = re.compile(r"credit balance", re.IGNORECASE)

_PRIVATE = re.compile(
    r"""
      [a-z][a-z0-9+.-]*://\S+                                       # addresses
    | \bbearer\s+\S+                                                # credentials, by their look …
    | \b(?:sk|pk|rk|gsk|xai|key|hf|nvapi|api)[-_][A-Za-z0-9_*.-]{6,}
    | \bAIza[A-Za-z0-9_-]{10,}
    | \beyJ[A-Za-z0-9_-]{8,}[A-Za-z0-9_.-]*
    | \b(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{32,}    # … or by their length
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+                                  # mail
    | \b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b                          # hosts: numbers,
    | \[[0-9a-f:]*:[0-9a-f:]+\](?::\d+)?
    | \blocalhost\b(?::\d+)?
    | \b(?=[\w.-]*[a-z])[\w-]+(?:\.[\w-]+)*:\d{2,5}\b(?:/\S*)?                      # names with a port,
    | \b(?:[a-z0-9-]+\.)+(?:com|net|org|io|ai|dev|app|cloud|co|eu|de|cn|us|internal|local|svc|lan|corp|intra
        |invalid|test|example|cluster)\b(?:/\S*)?                   # and names under well-known ends
    """,
    re.IGNORECASE | re.VERBOSE,
)

_REFUSALS_OF_OURS = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED,
)

# Any other 4xx (404 above all) says that our row is wrong: its address, its model's name.
_FAULTS_OF_THE_REQUEST = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)


def from_status(
    status: int, headers: Mapping[str, str], body: bytes, *, secrets: Iterable[str] = (), host: str = ""
) -> ProtocolError:
    """An HTTP answer that is not a success; `secrets`, such as our key, and its `host` are never to be shown."""
    told = _told_in(body)
    error = told.get("error")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _limited(_first(_retry_after(headers), rpc.retry_delay(error)))
    if status in _REFUSALS_OF_OURS or (status == HTTPStatus.BAD_REQUEST and rpc.refuses_credentials(error)):
        return model_error("The model's backend refused our credentials.")
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, _OVERLOADED):
        return _overloaded(_first(_retry_after(headers), rpc.retry_delay(error)))
    if status == HTTPStatus.BAD_REQUEST and rpc.refuses_account(error):
        return model_error("The model's backend does not serve the account that it was asked with.")
    if status in _LATE:
        return _timed_out()
    if status in _FAULTS_OF_THE_REQUEST:
        return _refused(_message_in(told), secrets, host)
    return model_error(f"The model's backend answered with status {status}.")


def from_exception(exc: BaseException) -> ProtocolError:
    """A call that ended without an answer, or in the middle of one."""
    if isinstance(exc, ProtocolError):
        return exc
    if isinstance(exc, TimeoutError):
        return _timed_out()
    if isinstance(exc, aiohttp.ClientConnectorError | aiohttp.InvalidURL):
        return model_error("The model's backend cannot be reached.")
    if isinstance(exc, aiohttp.ClientError | OSError):
        return model_error("The connection to the model's backend was lost.")
    return model_error("The call to the model's backend failed.")


def cut_off() -> ProtocolError:
    """An answer that ended before its end."""
    return model_error("The backend's answer was cut off before its end.")


def cut_in_event() -> ProtocolError:
    """An answer that ended, or broke, in the middle of an event."""
    return model_error("The backend's answer was cut off in the middle of an event.")


def from_stream_error(obj: Any) -> ProtocolError:
    """An error object inside an answer that began well. Its own status decides where it has one."""
    if not isinstance(obj, dict):
        return model_error("The model's backend reported an error.")
    told = (obj.get(field) for field in ("code", "type", "status"))
    names = {name.lower() for name in told if isinstance(name, str)}
    status = _status_in(obj)
    message = obj.get("message")
    if status == HTTPStatus.TOO_MANY_REQUESTS or (status is None and names & _LIMIT_NAMES):
        return _limited(rpc.retry_delay(obj))
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, _OVERLOADED) or (
        status is None and names & _OVERLOAD_NAMES
    ):
        return _overloaded(rpc.retry_delay(obj))
    if status in _LATE or (status is None and names & _LATE_NAMES):
        return _timed_out()
    if (status == 400 or (status is None and names & _REFUSAL_NAMES)) and _overflows(message, names):
        return _overflow()
    return model_error("The model's backend reported an error while it generated the answer.")


_LIMIT_NAMES = {"rate_limit_exceeded", "rate_limit_error", "too_many_requests", "resource_exhausted"}
_OVERLOAD_NAMES = {"overloaded", "overloaded_error", "unavailable"}
_LATE_NAMES = {"timeout_error"}
_REFUSAL_NAMES = {"invalid_request_error", "invalid_request", "context_length_exceeded", "badrequesterror"}


def safe_message(text: str, secrets: Iterable[str] = (), host: str = "") -> str:
    """An upstream's words, fit to be stored, without addresses and credentials, at most 300 characters, on one line."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[removed]")
    if host:
        # It may be a word like any other: within other words it is none.
        text = re.sub(rf"(?<![\w-]){re.escape(host)}(?![\w-])", "[removed]", text, flags=re.IGNORECASE)
    text = " ".join(safe_text(text[:_SCANNED_LIMIT]).split())
    text = _PRIVATE.sub("[removed]", text)
    return text if len(text) <= _MESSAGE_LIMIT else text[: _MESSAGE_LIMIT - 1] + "…"


def _refused(message: str, secrets: Iterable[str], host: str) -> ProtocolError:
    if _overflows(message, set()):
        return _overflow()
    if _UNPAID.search(message):
        # Told as if the request were at fault; it is nobody's business but the operator's.
        return model_error("The model's backend refused our account.")
    words = safe_message(message, secrets, host)
    said = f": {words}" if words else "."
    return invalid_request(f"The model's backend refused the request{said}", code="upstream_rejected")


def _overflow() -> ProtocolError:
    return invalid_request(
        "The input does not fit into the context window of the model.",
        param="input",
        code="context_length_exceeded",
    )


def _overflows(message: Any, names: set[str]) -> bool:
    return "context_length_exceeded" in names or (
        isinstance(message, str) and bool(_OVERFLOW.search(message))
    )


def _limited(retry_after: float | None) -> ProtocolError:
    return too_many_requests("The model's backend limits the rate of requests.", retry_after=retry_after)


def _overloaded(retry_after: float | None) -> ProtocolError:
    return overloaded("The model's backend is overloaded. Try again later.", retry_after)


def _first(told: float | None, otherwise: float | None) -> float | None:
    return otherwise if told is None else told


def _timed_out() -> ProtocolError:
    return model_error("The model's backend did not answer in time.", code="upstream_timeout")


def _status_in(obj: dict[str, Any]) -> int | None:
    for field in ("status", "code", "status_code", "http_code"):
        value = obj.get(field)
        if isinstance(value, str) and len(value) == _STATUS_DIGITS and value.isdecimal():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
            return value
    return None


def _told_in(body: bytes) -> dict[str, Any]:
    """The object that an error body is, the first where it is a list; empty where it is none."""
    try:
        value = _load(body)
    except ValueError:
        return {}
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, dict) else {}


def _message_in(told: dict[str, Any]) -> str:
    """The message of an error body, in the places where servers put it; "" when there is none.

    Only a string in one of these places was written to be read. Whatever else a body holds may name hosts and
    routes, or repeat what other people asked.
    """
    error = told.get("error")
    inner = error.get("message") if isinstance(error, dict) else error
    texts = (inner, told.get("message"), told.get("detail"))
    return next((text for text in texts if isinstance(text, str) and text), "")


def _load(body: bytes) -> Any:
    """JSON with escaped lone surrogates in it, too; ValueError for what is not JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            return json.loads(body)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `Retry-After-Ms` or `Retry-After` (seconds or a date)."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(lowered.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = lowered.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max((date - datetime.now(UTC)).total_seconds(), 0.0)


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
