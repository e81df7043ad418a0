"""The published models of the specification (`openresponses-types`) and the service's own reference as judges of what
it sends.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args

import openresponses_types
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel, ValidationError

from responses_api.protocol.passthrough import is_foreign
from tests.support import described
from tests.support.client import Json

_STAND_IN: Json = {"type": "compaction", "id": "cmp_1", "encrypted_content": ""}

_NAMED_BY_OPENAI = ("response.mcp_", "response.file_search_call.", "response.reasoning_text.")

# Extension items and events (`vendor:name`) have no schema of their own.
SEPARATOR = ":"


def _event_models() -> dict[str, type[BaseModel]]:
    found: dict[str, type[BaseModel]] = {}
    for name, model in vars(openresponses_types).items():
        if name.endswith("StreamingEvent"):
            kind = model.model_fields["type"].annotation
            assert issubclass(kind, Enum)
            found.update({str(member.value): model for member in kind})
    return found


EVENTS = _event_models()


def _openai_models() -> dict[str, type[BaseModel]]:
    union, _ = get_args(ResponseStreamEvent)
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(union)}


OPENAI_EVENTS = {name: model for name, model in _openai_models().items() if name.startswith(_NAMED_BY_OPENAI)}
"""What only OpenAI's clients know by these names: raw reasoning, and the steps of tools that the server runs."""


def event_faults(event: Json) -> Iterator[str]:
    """What is wrong with an event by its schemas; nothing when it is valid."""
    yield from described.event_faults(event)
    kind = event["type"]
    if SEPARATOR in kind:
        return
    if kind in OPENAI_EVENTS:
        yield from _faults(OPENAI_EVENTS[kind], event)
        return
    if kind not in EVENTS:
        yield f"{kind} is not an event of the specification"
        return
    yield from _faults(EVENTS[kind], _of_specification(event))


def _faults(model: type[BaseModel], value: Json) -> Iterator[str]:
    try:
        model.model_validate(value)
    except ValidationError as error:
        yield str(error)


def _of_specification(event: Json) -> Json:
    """The event with what the published models know: items and tools of other types are described by ours alone."""
    if "response" in event:
        return {**event, "response": _known_alone(event["response"])}
    if "item" in event and is_foreign(event["item"].get("type", "")):
        return {**event, "item": _STAND_IN}
    return event


def _known_alone(response: Any) -> Any:
    if not isinstance(response, dict):
        return response
    choice = response.get("tool_choice")
    is_known = isinstance(choice, str) or choice is None or choice["type"] in ("function", "allowed_tools")
    return {
        **response,
        "output": [item for item in response["output"] if not is_foreign(item.get("type", "message"))],
        "tools": [tool for tool in response["tools"] if tool["type"] == "function"],
        "tool_choice": choice if is_known else "auto",
    }


def assert_response(resource: Any) -> None:
    """The response resource fits its schemas; pydantic's ValidationError or an AssertionError otherwise."""
    assert not [*described.faults("Response", resource)], resource
    openresponses_types.ResponseResource.model_validate(_known_alone(resource))


def assert_envelope(message: Any) -> None:
    """The message fits the schemas of an error on a WebSocket, as above."""
    assert not [*described.faults("WebSocketError", message)], message
    openresponses_types.WebSocketErrorEvent.model_validate(message)
