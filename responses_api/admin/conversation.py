"""Items as the blocks of a readable conversation. Pure: an item in, a block out, for the template to escape.

An item or part of a type that is not known here, or of an unexpected shape, is shown as JSON: nothing is hidden.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal

from responses_api.admin.blocks import Block, Part, id_of, notes, told
from responses_api.admin.receipts import receipt
from responses_api.admin.shown import cut, picture, pretty, pretty_text, web_link
from responses_api.protocol.plain import Json


def block(item: Json) -> Block:
    """The block of an item, whatever its shape."""
    show = receipt(item) or _ITEMS.get(str(item.get("type")), _other)
    try:
        return show(item)
    except (KeyError, TypeError, AttributeError):
        return _other(item)


def _message(item: Json) -> Block:
    role = item["role"]
    title, tone = _ROLES[role]
    words = notes(item, phase=item.get("phase"))
    return Block(title, tone, tuple(_parts(item["content"])), words, id_of(item))


def _function_call(item: Json) -> Block:
    arguments = pretty_text(item["arguments"])
    shown = Part("code", arguments if arguments is not None else cut(item["arguments"]))
    return Block(
        f"Calls {item['name']}", "tool", (shown,), notes(item, call_id=item.get("call_id")), id_of(item)
    )


def _function_output(item: Json) -> Block:
    output = item["output"]
    parts = (told(output),) if isinstance(output, str) else tuple(_parts(output))
    return Block("Function output", "tool", parts, notes(item, call_id=item.get("call_id")), id_of(item))


def _reasoning(item: Json) -> Block:
    parts = [
        *_labelled("Summary", _parts(item.get("summary") or [])),
        *_parts(item.get("content") or []),
    ]
    if item.get("encrypted_content"):
        parts.append(_sealed(item))
    return Block("Reasoning", "other", tuple(parts), notes(item), id_of(item))


def _compaction(item: Json) -> Block:
    return Block("Compaction", "other", (_sealed(item),), notes(item), id_of(item))


def _other(item: Json) -> Block:
    return Block(str(item.get("type")), "other", (Part("code", pretty(item)),), item_id=id_of(item))


def _parts(content: list[Json]) -> Iterable[Part]:
    for part in content:
        yield from _PARTS.get(part["type"], _unknown_part)(part)


def _text_part(part: Json) -> Iterable[Part]:
    yield Part("text", cut(part["text"]))
    for note in part.get("annotations") or []:
        if note.get("type") == "url_citation":
            yield Part("link", f"{note.get('title') or note['url']}", "Citation", web_link(note["url"]))
        elif note.get("type") == "file_citation":
            yield Part("note", f"{note.get('filename') or note['file_id']}", "Citation")
        else:
            yield Part("code", pretty(note), "Annotation")


def _refusal_part(part: Json) -> Iterable[Part]:
    yield Part("text", cut(part["refusal"]), "Refusal")


def _image_part(part: Json) -> Iterable[Part]:
    label = f"Image, detail {part['detail']}" if part.get("detail") else "Image"
    if part.get("file_id"):
        yield Part("note", f"uploaded as {part['file_id']}", label)
        return
    url = part["image_url"]
    yield Part("picture", "", label, picture(url)) if picture(url) else _address(label, url)


def _file_part(part: Json) -> Iterable[Part]:
    label = f"File {part.get('filename') or ''}".strip()
    if part.get("file_id"):
        yield Part("note", f"uploaded as {part['file_id']}", label)
    if part.get("file_url"):
        yield _address(label, part["file_url"])
    if part.get("file_data"):
        yield Part("note", f"{len(part['file_data']):,} characters inside the request", label)


def _video_part(part: Json) -> Iterable[Part]:
    yield _address("Video", part["video_url"])


def _unknown_part(part: Json) -> Iterable[Part]:
    yield Part("code", pretty(part), str(part["type"]))


def _address(label: str, url: str) -> Part:
    if url[:5].lower() == "data:":
        return Part("note", f"{url.split(',', 1)[0][:80]}, {len(url):,} characters inside the request", label)
    return Part("link", cut(url), label, web_link(url))


def _sealed(item: Json) -> Part:
    return Part("note", f"{len(item['encrypted_content']):,} characters, encrypted", "Sealed")


def _labelled(label: str, parts: Iterable[Part]) -> Iterable[Part]:
    return (Part(part.kind, part.text, part.label or label, part.url) for part in parts)


_ROLES: Final[dict[str, tuple[str, Literal["user", "assistant", "instruction"]]]] = {
    "user": ("User", "user"),
    "assistant": ("Assistant", "assistant"),
    "system": ("System", "instruction"),
    "developer": ("Developer", "instruction"),
}
_ITEMS: Final[dict[str, Callable[[Json], Block]]] = {
    "message": _message,
    "function_call": _function_call,
    "function_call_output": _function_output,
    "reasoning": _reasoning,
    "compaction": _compaction,
}
_PARTS: Final[dict[str, Callable[[Json], Iterable[Part]]]] = {
    "input_text": _text_part,
    "output_text": _text_part,
    "reasoning_text": _text_part,
    "summary_text": _text_part,
    "text": _text_part,
    "refusal": _refusal_part,
    "input_image": _image_part,
    "input_file": _file_part,
    "input_video": _video_part,
}
