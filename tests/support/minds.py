"""Models for the `Respondent`: one that can do everything that the scenarios ask for, and one that can do little."""

import base64
import re
import struct
import zlib
from typing import Any

from responses_api.conformance.picture import COLOURS
from responses_api.protocol.errors import model_error
from responses_api.protocol.plain import Json
from tests.support.respondent import Said, call, message, reasoning

_WORD = re.compile(r"cedar\w+")


def able(body: Json) -> Said:
    """What a capable model would answer."""
    said = _text_of(body)
    counts = (max(1, len(said.split())), 5)
    thoughts = [reasoning("Hm.", "sealed")] if body.get("reasoning") else []
    calls = [*_calls(body, said)]
    if calls:
        return Said([*thoughts, *calls], counts)
    if "Count" in said:
        if body.get("max_output_tokens") == 16:
            return Said([message("1 2 3", status="incomplete")], counts, "incomplete", "max_output_tokens")
        return Said([message("1 2 3")], counts, hangs=True)
    return Said([*thoughts, message(_answer(body, said))], counts)


def weak(body: Json) -> Said:
    """A model that reads everything and says the same to all of it; a call it makes only where it is held to one."""
    if body.get("tool_choice") not in (None, "auto", "none"):
        raise model_error("The model did not call.", code="tool_call_missing")
    form = ((body.get("text") or {}).get("format") or {}).get("type")
    text = '{"colour":"red","wheels":4,"is_fast":true}' if form == "json_schema" else "I like it here."
    return Said([message(text)], (max(1, len(_text_of(body).split())), 5))


def _answer(body: Json, said: str) -> str:
    if (body.get("text") or {}).get("format", {}).get("type") == "json_schema":
        return '{"colour":"red","wheels":4,"is_fast":true}'
    picture = re.search(r"base64,(\S+)", said)
    if picture:
        return f"It is {_colour(picture[1])}."
    words = _WORD.findall(said)
    if words:
        return str(words[0])
    return f"The tool says: {said[-80:]}" if "hail" in said else "Hello!"


def _calls(body: Json, said: str) -> list[Json]:
    offered = [tool["name"] for tool in body.get("tools") or ()]
    choice, last = body.get("tool_choice", "auto"), _items(body)[-1]
    if choice == "none" or not offered or last.get("type") == "function_call_output":
        return []
    if isinstance(choice, dict):
        return [call(choice["name"])]
    wanted = [name for name in offered if name in said]
    return [call(name, number) for number, name in enumerate(wanted, start=1)]


def _items(body: Json) -> list[Json]:
    given = body["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _text_of(body: Json) -> str:
    """Everything that the model reads, as one text."""
    return " ".join([str(body.get("instructions") or ""), *(_plain(item) for item in _items(body))])


def _plain(item: Any) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, list):
        return " ".join(map(_plain, item))
    read = ("content", "output", "text", "image_url")
    return " ".join(_plain(item[name]) for name in read if item.get(name))


def _colour(data: str) -> str:
    """The colour of a PNG's first pixel, found as a reader of PNG finds it."""
    raw, at, packed = base64.b64decode(data), 8, b""
    while at < len(raw):
        (length,) = struct.unpack(">I", raw[at : at + 4])
        if raw[at + 4 : at + 8] == b"IDAT":
            packed += raw[at + 8 : at + 8 + length]
        at += 12 + length
    pixel = tuple(zlib.decompress(packed)[1:4])
    return next(name for name, colour in COLOURS.items() if colour == pixel)
