"""A result in words: what a receipt holds of it, and what the model is told."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import orjson
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from responses_api.protocol.wording import safe_text

_NO_WORDS: Final = "The tool says that it failed, and nothing more."


@dataclass(frozen=True, slots=True)
class Told:
    """A result's text, and whether the tool calls it an error."""

    text: str
    is_error: bool


def told(result: CallToolResult, without_secrets: Callable[[str], str], most_bytes: int) -> Told:
    """The result as text of at most about `most_bytes`; what is cut says so at its end."""
    text = without_secrets(safe_text("\n".join(_pieces(result))))
    return Told(_cut(text, most_bytes) or (_NO_WORDS if result.is_error else ""), result.is_error)


def _pieces(result: CallToolResult) -> Iterable[str]:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    for block in result.content:
        yield _words(block)
    if result.structured_content is not None and not _is_told(result.structured_content, texts):
        yield _json(result.structured_content)


def _words(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return _unshown("an image", block.mime_type, block.data)
        case AudioContent():
            return _unshown("a sound", block.mime_type, block.data)
        case EmbeddedResource():
            return _inside(block.resource)
        case ResourceLink():
            link = {"resource_link": block.uri, "name": block.name, "description": block.description}
            return _json({name: value for name, value in link.items() if value is not None})


def _inside(resource: TextResourceContents | BlobResourceContents) -> str:
    if isinstance(resource, TextResourceContents):
        return _json({"resource": resource.uri, "text": resource.text})
    return _unshown(f"the resource {resource.uri}", resource.mime_type, resource.blob)


def _unshown(what: str, media_type: str | None, encoded: str) -> str:
    """What no text can hold. Its bytes would fill receipts, and contexts after them, with what nobody reads."""
    size = len(encoded) * 3 // 4 - encoded.count("=", -2)
    return f"[{what}, {media_type or 'of an unknown type'}, {size} bytes, is not shown]"


def _is_told(structured: Any, texts: list[str]) -> bool:
    """Whether the texts say the same already, as servers put it there for clients that know no structured content."""
    said = [_read(text) for text in texts]
    wrapped = (
        structured.get("result") if isinstance(structured, dict) and len(structured) == 1 else structured
    )
    whole = said[0] if len(said) == 1 else said
    plain = texts[0] if len(texts) == 1 else texts
    return bool(texts) and any(one in (whole, plain) for one in (structured, wrapped))


def _read(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, default=str).decode()
    except orjson.JSONEncodeError:  # integers of more than 64 bits
        return json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":"))


def _cut(text: str, most_bytes: int) -> str:
    encoded = text.encode()
    if len(encoded) <= most_bytes:
        return text
    kept = encoded[:most_bytes].decode(errors="ignore")
    return f"{kept}\n[The result was cut: of {len(encoded)} bytes, these are the first {len(kept.encode())}.]"
