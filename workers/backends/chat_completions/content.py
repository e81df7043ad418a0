"""Content parts as Chat Completions has them, in messages and in the outputs of functions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from workers.backends.chat_completions.dialect import Dialect
from workers.backends.given import Given

_TEXT_TYPES: Final = frozenset({"input_text", "output_text", "text"})


def content(item: Given, parts: Sequence[Json], dialect: Dialect) -> str | list[Json]:
    """A string where there is only text, because every server takes one; else the parts in their order.

    Raises `ProtocolError` 400 for a part that the format cannot carry.
    """
    if all(part["type"] in _TEXT_TYPES for part in parts):
        return "".join(part["text"] for part in parts)
    return [_part(item, part, f".content[{index}]", dialect) for index, part in enumerate(parts)]


def output(item: Given, dialect: Dialect) -> tuple[str, list[Json]]:
    """The text of a function's output, and the parts that only a user's message can hold. Raises as `content`."""
    given = item.value["output"]
    if isinstance(given, str):
        return given, []
    text = "".join(part["text"] for part in given if part["type"] in _TEXT_TYPES)
    others = [
        _part(item, part, f".output[{index}]", dialect)
        for index, part in enumerate(given)
        if part["type"] not in _TEXT_TYPES
    ]
    return text, others


def _part(item: Given, part: Json, path: str, dialect: Dialect) -> Json:
    convert = _PARTS.get(part["type"])
    if convert is None or (part["type"] == "input_video" and not dialect.takes_videos):
        raise item.refuse(f"Content parts of type '{quoted(part['type'])}'", path + ".type")
    return convert(item, part, path)


def _text(item: Given, part: Json, path: str) -> Json:
    return {"type": "text", "text": part["text"]}


def _image(item: Given, part: Json, path: str) -> Json:
    image = {"url": part["image_url"]}
    if part.get("detail") not in (None, "auto"):
        image["detail"] = part["detail"]
    return {"type": "image_url", "image_url": image}


def _file(item: Given, part: Json, path: str) -> Json:
    if part.get("file_url"):
        raise item.refuse("Files by their 'file_url'", path + ".file_url")
    names = ("filename", "file_data")
    return {"type": "file", "file": {name: part[name] for name in names if part.get(name)}}


def _video(item: Given, part: Json, path: str) -> Json:
    return {"type": "video_url", "video_url": {"url": part["video_url"]}}


_PARTS: Final[Mapping[str, Callable[[Given, Json, str], Json]]] = {
    **dict.fromkeys(_TEXT_TYPES, _text),
    "input_image": _image,
    "input_file": _file,
    "input_video": _video,
}
