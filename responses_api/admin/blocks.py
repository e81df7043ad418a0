"""What a page shows of one item: a block with its parts. Pure: plain data, for the template to escape."""

from dataclasses import dataclass
from typing import Any, Literal

from responses_api.admin.shown import cut, pretty_text
from responses_api.protocol.plain import Json


@dataclass(frozen=True, slots=True)
class Part:
    """One thing to show.

    `url` is a picture's data URL, or where a link leads; an address that must not be followed is a link without `url`.
    """

    kind: Literal["text", "code", "picture", "link", "note"]
    text: str
    label: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """One item. `tone` chooses its colour."""

    title: str
    tone: Literal["user", "assistant", "instruction", "tool", "other"]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    item_id: str = ""


def told(text: str, label: str = "") -> Part:
    """A text of a tool's, or for one: indented where it is JSON."""
    indented = pretty_text(text)
    return Part("text", cut(text), label) if indented is None else Part("code", indented, label)


def notes(item: Json, **named: Any) -> tuple[str, ...]:
    """What there is to say of an item in a word: those of `named` that have a value, and how it ended."""
    status = item.get("status")
    words = [f"{name} {value}" for name, value in named.items() if value]
    return (*words, *([str(status)] if status not in (None, "completed") else []))


def id_of(item: Json) -> str:
    """The item's id; "" where it has none."""
    return str(item.get("id") or "")
