"""Word documents (docx): their paragraphs and tables, under their headings. ECMA-376, part 1, 17."""

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any, Final

from lxml import etree

from workers.indexing.document import Block, Document
from workers.indexing.errors import Unreadable
from workers.indexing.headings import Headings
from workers.indexing.text import cleaned

MAIN_PART: Final = "word/document.xml"
_MOST_BYTES: Final = 64 << 20
_BROKEN: Final = "It is no Word document (docx) that can be read."
_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING_STYLE: Final = re.compile(r"(?:heading|berschrift|titre|ttulo|titolo|kop)\s*([1-9])$", re.IGNORECASE)


def read_word(data: bytes) -> Document:
    """The blocks of a Word document. Raises `Unreadable`."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(MAIN_PART) as part:
            written = part.read(_MOST_BYTES + 1)  # whatever size the archive promises
    except (zipfile.BadZipFile, KeyError, OSError, ValueError, RuntimeError, NotImplementedError):
        raise Unreadable(_BROKEN) from None
    if len(written) > _MOST_BYTES:
        raise Unreadable(f"Its text takes more than {_MOST_BYTES >> 20} MB unpacked.")
    try:
        root = etree.fromstring(written, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        raise Unreadable(_BROKEN) from None
    return Document(tuple(_blocks(root)))


def _blocks(root: Any) -> Iterator[Block]:
    headings = Headings()
    for paragraph in root.iter(f"{_W}p", f"{_W}tr"):
        is_row = paragraph.tag == f"{_W}tr"
        if not is_row and any(above.tag == f"{_W}tr" for above in paragraph.iterancestors()):
            continue  # told with its row
        text = " | ".join(map(_text, paragraph.iter(f"{_W}tc"))) if is_row else _text(paragraph)
        if not text.strip():
            continue
        level = None if is_row else _level(paragraph)
        if level is None:
            yield Block(text.strip(), headings.above())
        else:
            headings.enter(level, text)


def _text(element: Any) -> str:
    pieces = []
    for node in element.iter(f"{_W}t", f"{_W}tab", f"{_W}br"):
        pieces.append(node.text or "" if node.tag == f"{_W}t" else " ")
    return cleaned("".join(pieces))


def _level(paragraph: Any) -> int | None:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    name = style.get(f"{_W}val", "") if style is not None else ""
    if name.lower() == "title":
        return 0
    found = _HEADING_STYLE.search(name)
    return int(found[1]) if found else None
