"""What the backend is to get back of its own when a conversation goes on: the states of a reasoning item.

Each is an object with one of two fields:

- `item`: a reasoning item as the backend told it, with its encrypted content or, of servers that have none, with its
  text. One that has neither could not be read by anybody and is not kept.
- `response`: the id that a stored response has there, and under `items` how many items it was asked with.
"""

from typing import Final

from responses_api.protocol.plain import Json
from workers.backends.parts import StateReport
from workers.backends.values import storable

ITEM: Final = "item"
RESPONSE: Final = "response"
ITEMS: Final = "items"

_KEPT: Final = ("type", "id", "summary", "content", "encrypted_content")


def of_reasoning(item: Json, *, encrypted: bool) -> StateReport | None:
    """The state of a reasoning item that is done; `encrypted`: the backend takes encrypted content back."""
    kept = {name: item[name] for name in _KEPT if item.get(name) is not None}
    if not encrypted:
        kept.pop("encrypted_content", None)
    if not kept.get("encrypted_content") and not kept.get("content"):
        return None
    return StateReport({ITEM: storable({"summary": [], **kept})})


def of_response(response_id: str, items: int) -> StateReport:
    """The state of a response that the backend stores."""
    return StateReport({RESPONSE: storable(response_id), ITEMS: items})
