"""Plain text: which characters its bytes are, and where its paragraphs end."""

import codecs
import re
from collections.abc import Iterator
from typing import Final

from charset_normalizer import from_bytes

from workers.indexing.document import Block, Document
from workers.indexing.errors import Unreadable

BINARY: Final = (
    "It is no text, and of no format that can be read here: text, Markdown, HTML, PDF and Word (docx) can."
)

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES: Final = 1 << 17
_PARAGRAPHS: Final = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
# What stands for nothing that is read, and what PostgreSQL cannot keep.
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufeff]")


def read_text(data: bytes) -> Document:
    """The paragraphs of a plain text. Raises `Unreadable` for bytes that are none."""
    return Document(tuple(Block(text) for text in paragraphs(decoded(data))))


def decoded(data: bytes) -> str:
    """The characters, by whatever encoding they are told in or by: a byte order mark, UTF-8, or else the one that
    makes sense of them. Raises `Unreadable` where none does.
    """
    try:
        return cleaned(data.decode(encoding_of(data)))
    except (UnicodeDecodeError, LookupError):
        raise Unreadable(BINARY) from None


def cleaned(text: str) -> str:
    """Without control characters, and with one kind of line end."""
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n"))


def paragraphs(text: str) -> Iterator[str]:
    """The pieces between empty lines."""
    for paragraph in _PARAGRAPHS.split(text):
        if stripped := paragraph.strip("\n").rstrip():
            yield stripped


def encoding_of(data: bytes) -> str:
    """The encoding that `decoded` reads by. Raises `Unreadable` where none makes sense of the bytes."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    try:
        data.decode()
    except UnicodeDecodeError:
        return _guessed(data)
    if b"\x00" in data:
        return _guessed(data)
    return "utf-8"


def _guessed(data: bytes) -> str:
    best = from_bytes(data[:_SAMPLE_BYTES]).best()
    if best is None:
        raise Unreadable(BINARY)
    return best.encoding
