"""What a client says, read; and how an error is told it.

Specification: "WebSocket"; `WebSocketResponseCreateEvent`, `WebSocketErrorEvent`.
"""

from dataclasses import dataclass
from typing import Final

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.reading import read_json
from responses_api.protocol.request import CreateRequest, parse_create
from responses_api.protocol.sse import encode

CREATE: Final = "response.create"
_OF_HTTP: Final = frozenset({"type", "stream", "stream_options", "generate", "stream_id"})
"""Fields that say nothing about the response: many clients send what HTTP needs, too."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One response that is asked for. Where `generates` is false, its context alone is wanted, for what follows."""

    request: CreateRequest
    generates: bool


def read_message(text: bytes) -> Json:
    """The message in a text frame. Raises `ProtocolError` 400, or 413 where it has too many values."""
    message = read_json(text, what="The message")
    if not isinstance(message, dict):
        raise invalid_request("A message must be a JSON object.", code="invalid_type")
    kind = message.get("type")
    if kind is None:
        raise invalid_request(
            f"'type' is required; it must be '{CREATE}'.", param="type", code="missing_required_parameter"
        )
    if kind != CREATE:
        raise invalid_request(
            f"This server knows no message of that type; 'type' must be '{CREATE}'.",
            param="type",
            code="unsupported_value",
        )
    return message


def continued_by(message: Json) -> str | None:
    """The id of the response that a message continues, whatever else is wrong with it."""
    named = message.get("previous_response_id")
    return named if isinstance(named, str) else None


def turn_of(message: Json, leave_out_tools: bool) -> Turn:
    """What a message asks for (`leave_out_tools`: see `parse_create`). Raises `ProtocolError` 400 naming the field."""
    if message.get("stream_id") is not None:
        raise _unsupported(
            "'stream_id' is not offered by this server: a connection has one response at a time; open another one.",
            "stream_id",
        )
    generates = _flag(message, "generate") is not False
    body = {name: value for name, value in message.items() if name not in _OF_HTTP}
    request = parse_create(
        {**body, "stream": True}, may_be_empty=not generates, leave_out_tools=leave_out_tools
    )
    if request.background:
        raise _unsupported(
            "'background' is not offered over WebSocket; leave it out, or send the request over HTTP.",
            "background",
        )
    return Turn(request, generates)


def envelope(error: ProtocolError) -> str:
    """The message that tells an error. Its `headers` are those that HTTP would have had, where there are some."""
    told: Json = {
        "type": "error",
        "status": error.status,
        "error": {**error.payload(), "code": error.code or error.type},
    }
    if error.retry_after is not None:
        told["headers"] = error.headers()
    return encode(told).decode()


def _flag(message: Json, name: str) -> bool | None:
    value: object = message.get(name)
    if value is not None and not isinstance(value, bool):
        raise invalid_request(f"'{name}' must be a boolean.", param=name, code="invalid_type")
    return value


def _unsupported(sentence: str, param: str) -> ProtocolError:
    return invalid_request(sentence, param=param, code="unsupported_value")
