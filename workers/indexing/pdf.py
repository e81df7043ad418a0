"""PDF: the text of its pages. Pages that are pictures only have none: nothing here reads pictures."""

import io
from typing import Final

from pypdf import PdfReader
from pypdf.errors import FileNotDecryptedError, PyPdfError

from workers.indexing.document import Block, Document
from workers.indexing.errors import Unreadable
from workers.indexing.headings import Headings
from workers.indexing.text import cleaned, paragraphs

MOST_PAGES: Final = 2_000
_BROKEN: Final = "It is no PDF that can be read: it is broken, or not whole."
_ENCRYPTED: Final = "It is encrypted: it can be read without a password only."
_PICTURES: Final = "It has no text: its pages are pictures, or empty."


def read_pdf(data: bytes) -> Document:
    """The paragraphs of a PDF, each with its page. Raises `Unreadable`."""
    try:
        return _read(PdfReader(io.BytesIO(data)))
    except FileNotDecryptedError:
        raise Unreadable(_ENCRYPTED) from None
    except Unreadable:
        raise
    except Exception:
        # `PyPdfError` for what the library looked for; hostile files find the rest: KeyError, RecursionError, …
        raise Unreadable(_BROKEN) from None


def _read(reader: PdfReader) -> Document:
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable(_ENCRYPTED)
    above = Headings(_title(reader)).above()
    count = len(reader.pages)
    blocks: list[Block] = []
    for number, page in enumerate(reader.pages[:MOST_PAGES], start=1):
        text = cleaned(page.extract_text())
        blocks.extend(Block(paragraph, above, number) for paragraph in paragraphs(text))
    if not blocks:
        raise Unreadable(_PICTURES if count else _BROKEN)
    return Document(tuple(blocks), _note(count))


def _title(reader: PdfReader) -> str:
    try:
        title = reader.metadata.title if reader.metadata else None
    except (PyPdfError, ValueError, KeyError, AttributeError):
        return ""
    return cleaned(title) if isinstance(title, str) else ""


def _note(count: int) -> str | None:
    return f"Only the first {MOST_PAGES} of its {count} pages were read." if count > MOST_PAGES else None
