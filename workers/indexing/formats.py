"""Which format a file is of: by what it begins with, else by what it is called. What a client says of it is a hint."""

from enum import Enum
from pathlib import PurePath
from typing import Final


class Format(Enum):
    """What can be read."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    PDF = "pdf"
    WORD = "word"


_ENDINGS: Final = {
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".htm": Format.HTML,
    ".html": Format.HTML,
    ".xhtml": Format.HTML,
    ".pdf": Format.PDF,
    ".docx": Format.WORD,
}
_MEDIA_TYPES: Final = {
    "text/markdown": Format.MARKDOWN,
    "text/html": Format.HTML,
    "application/xhtml+xml": Format.HTML,
    "application/pdf": Format.PDF,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": Format.WORD,
}
_HTML_BEGINNINGS: Final = (b"<!doctype html", b"<html")
_HEAD_BYTES: Final = 1024


def format_of(data: bytes, filename: str, media_type: str) -> Format:
    """The format that a file's content is to be read as."""
    head = data[:_HEAD_BYTES]
    if b"%PDF-" in head:
        return Format.PDF
    if head.startswith(b"PK\x03\x04") and b"word/" in data:
        return Format.WORD
    if head.lstrip().lower().startswith(_HTML_BEGINNINGS):
        return Format.HTML
    named = _ENDINGS.get(PurePath(filename).suffix.lower())
    return named or _MEDIA_TYPES.get(media_type.partition(";")[0].strip().lower(), Format.TEXT)
