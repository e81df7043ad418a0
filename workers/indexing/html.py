"""HTML: its text by paragraphs, under its title and headings; without scripts, styles and what is hidden."""

import re
from collections.abc import Iterator
from typing import Any, Final

from lxml import html as parser
from lxml.etree import ParserError

from workers.indexing.document import Block, Document
from workers.indexing.errors import Unreadable
from workers.indexing.headings import Headings
from workers.indexing.text import cleaned, encoding_of

# fmt: off
_SILENT: Final = frozenset((
    "head", "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas", "nav", "select",
    "button", "textarea",
))
_BLOCKS: Final = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "li", "main", "ol", "p",
    "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
))
# fmt: on
_CELLS: Final = frozenset(("td", "th"))
_HEAD_BYTES: Final = 2048
_HEADING: Final = re.compile("h[1-6]")


def read_html(data: bytes) -> Document:
    """The blocks of a page, which may be as broken as pages are. Raises `Unreadable` where there is none."""
    reading = parser.HTMLParser(encoding=_encoding(data), huge_tree=True)
    try:
        tree = parser.document_fromstring(data, parser=reading)
    except (ParserError, ValueError, LookupError):
        raise Unreadable("It is no HTML that can be read.") from None
    if any(mistake.level_name == "FATAL" for mistake in reading.error_log):
        # The rest of the page would be missing. What is merely wrong is mended.
        raise Unreadable("It is nested too deeply to be read as HTML.")
    return Document(tuple(_Walk(" ".join(tree.xpath("string(//head/title)").split())).blocks(tree)))


def _encoding(data: bytes) -> str | None:
    """None where the page says it itself, as the parser knows to read."""
    return None if b"charset" in data[:_HEAD_BYTES].lower() else encoding_of(data)


class _Walk:
    """Goes through the elements in their order; text gathers until a block ends."""

    def __init__(self, title: str) -> None:
        self._headings = Headings(title)
        self._said: list[str] = []

    def blocks(self, tree: Any) -> Iterator[Block]:
        # A stack of our own: pages may be nested deeper than Python calls.
        waiting: list[tuple[Any, bool]] = [(tree, False)]
        while waiting:
            element, is_done = waiting.pop()
            if is_done:
                yield from self._leave(element)
                continue
            if not isinstance(element.tag, str) or self._is_silent(element):
                self._say(element.tail, element.getparent())
                continue
            yield from self._enter(element)
            waiting.append((element, True))
            waiting.extend((child, False) for child in reversed(element))
        yield from self._end()

    def _is_silent(self, element: Any) -> bool:
        return element.tag in _SILENT or "hidden" in element.attrib

    def _enter(self, element: Any) -> Iterator[Block]:
        if element.tag in _BLOCKS or _HEADING.fullmatch(element.tag):
            yield from self._end()
        elif element.tag == "br":
            self._said.append("\n")
        elif element.tag in _CELLS:
            self._said.append(" \t ")
        self._say(element.text, element)

    def _leave(self, element: Any) -> Iterator[Block]:
        if _HEADING.fullmatch(element.tag):
            said, self._said = "".join(self._said), []
            self._headings.enter(int(element.tag[1]), said)
        elif element.tag in _BLOCKS:
            yield from self._end()
        self._say(element.tail, element.getparent())

    def _say(self, text: str | None, within: Any) -> None:
        if text:
            self._said.append(text if _is_verbatim(within) else text.replace("\n", " "))

    def _end(self) -> Iterator[Block]:
        said, self._said = cleaned("".join(self._said)), []
        lines = (re.sub(r"[ \t\xa0]*\t[ \t\xa0]*", " | ", line.strip()).rstrip() for line in said.split("\n"))
        text = "\n".join(line for line in lines if line)
        if text:
            yield Block(text, self._headings.above())


def _is_verbatim(element: Any) -> bool:
    return element is not None and (
        element.tag == "pre" or any(above.tag == "pre" for above in element.iterancestors())
    )
