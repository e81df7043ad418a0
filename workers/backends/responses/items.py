"""A conversation of items as the input of a Responses request."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.job import STATE
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from workers.backends.refusals import nothing_to_say
from workers.backends.responses.state import ITEM

_OWN: Final = frozenset({"id", "status", STATE})
"""What the service adds to an item, and what is the service's own."""


def build_input(context: Sequence[Json], spec: BackendSpec) -> list[Json]:
    """The input items of canonical items, oldest first.

    Raises `ProtocolError` 400 where nothing is left to say.
    """
    sent = told_items(context, spec)
    if not sent:
        raise nothing_to_say()
    return sent


def told_items(items: Sequence[Json], spec: BackendSpec) -> list[Json]:
    """What the backend is told of these items, which may be nothing."""
    return [told for item in items for told in _told(item, spec)]


def _told(item: Json, spec: BackendSpec) -> Iterable[Json]:
    kind = item["type"]
    if kind == "reasoning":
        return _reasoning(item)
    if is_foreign(kind):
        return [_foreign(item)] if spec.takes_item(kind) else []
    if kind == "message" and item["role"] == "assistant":
        return _assistant(item)
    return [_bare(item)]


def _reasoning(item: Json) -> Iterator[Json]:
    """The backend's own items that this one was made of."""
    for state in item.get(STATE) or ():
        if ITEM in state:
            yield state[ITEM]


def _foreign(item: Json) -> Json:
    """As the backend told it, under the id that it knows."""
    state = item.get(STATE) or {}
    told = {name: value for name, value in item.items() if name not in ("id", STATE)}
    return {**told, "id": state["id"]} if "id" in state else told


def _assistant(item: Json) -> Iterator[Json]:
    """A message of the model's; none for one that says nothing, which servers refuse."""
    parts = [part for part in item["content"] if part.get("text") or part.get("refusal")]
    if parts:
        content = [{name: part[name] for name in part if name != "logprobs"} for part in parts]
        # What the service wrote itself, such as a summary, has no id.
        own = {"id": item["id"]} if item.get("id") else {}
        yield {**_bare(item), **own, "status": "completed", "content": content}


def _bare(item: Json) -> Json:
    return {name: value for name, value in item.items() if name not in _OWN}
