"""The published models of the specification (`openresponses-types`) as a judge of what the service sends."""

from enum import Enum
from typing import Any

import openresponses_types
from pydantic import BaseModel

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


def assert_event(event: Json) -> None:
    """The event is one of the specification's and fits its schema; pydantic's ValidationError otherwise."""
    kind = event["type"]
    if SEPARATOR not in kind:
        assert kind in EVENTS, f"{kind} is not an event of the specification"
        EVENTS[kind].model_validate(event)


def assert_response(resource: Any) -> None:
    """The response resource fits its schema; pydantic's ValidationError otherwise."""
    openresponses_types.ResponseResource.model_validate(resource)
