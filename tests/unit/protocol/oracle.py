"""The published schemas, as the independent package `openresponses-types` has them."""

from collections.abc import Iterator
from typing import Any

import openresponses_types as published
from pydantic import BaseModel, ValidationError

from responses_api.protocol.plain import Json

_EVENTS: dict[str, type[BaseModel]] = {}
for _name in dir(published):
    _model: Any = getattr(published, _name)
    if _name.endswith("StreamingEvent"):
        (_type,) = _model.model_fields["type"].annotation
        _EVENTS[_type.value] = _model

_ITEMS: dict[str, type[BaseModel]] = {
    "message": published.Message,
    "function_call": published.FunctionCall,
    "function_call_output": published.FunctionCallOutput,
    "reasoning": published.ReasoningBody,
    "compaction": published.CompactionBody,
}


def check_response(snapshot: Json) -> None:
    """Raises ValidationError when the snapshot is not a published `ResponseResource`."""
    published.ResponseResource.model_validate(snapshot)


def check_item(item: Json) -> None:
    """Raises ValidationError when the item is not a published `ItemField` of its type."""
    _ITEMS[item["type"]].model_validate(item)


def event_faults(event: Json) -> Iterator[str]:
    """What the published schemas have against an event; of a vendor's they know nothing."""
    if ":" in event["type"]:
        return
    model = _EVENTS.get(event["type"])
    if model is None:
        yield f"unknown event type {event['type']}"
        return
    try:
        model.model_validate(event)
    except ValidationError as failure:
        yield from (f"{error['loc']} {error['msg']}" for error in failure.errors())
