"""The published models of the specification (`openresponses-types`) and the service's own reference as judges of what
it sends.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Any

import openresponses_types
from pydantic import BaseModel, ValidationError

from tests.support import described
from tests.support.client import Json

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


def event_faults(event: Json) -> Iterator[str]:
    """What is wrong with an event by its schemas; nothing when it is valid."""
    yield from described.event_faults(event)
    kind = event["type"]
    if SEPARATOR in kind:
        return
    if kind not in EVENTS:
        yield f"{kind} is not an event of the specification"
        return
    try:
        EVENTS[kind].model_validate(event)
    except ValidationError as error:
        yield str(error)


def assert_response(resource: Any) -> None:
    """The response resource fits its schemas; pydantic's ValidationError or an AssertionError otherwise."""
    assert not [*described.faults("Response", resource)], resource
    openresponses_types.ResponseResource.model_validate(resource)


def assert_envelope(message: Any) -> None:
    """The message fits the schemas of an error on a WebSocket, as above."""
    assert not [*described.faults("WebSocketError", message)], message
    openresponses_types.WebSocketErrorEvent.model_validate(message)
