"""Markdown: its paragraphs under their headings. The marks stay in the text, which reads well with them."""

import re
from collections.abc import Iterator
from typing import Final

from workers.indexing.document import Block, Document
from workers.indexing.headings import Headings
from workers.indexing.text import decoded

_ATX: Final = re.compile(r" {0,3}(#{1,6})[ \t](.*)")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{3,})[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


def read_markdown(data: bytes) -> Document:
    """The blocks of a Markdown text (CommonMark 4.2, 4.3, 4.5). Raises `Unreadable` as plain text does."""
    return Document(tuple(_blocks(decoded(data).split("\n"))))


def _blocks(lines: list[str]) -> Iterator[Block]:
    headings = Headings()
    paragraph: list[str] = []
    fence = ""

    def end() -> Iterator[Block]:
        text = "\n".join(paragraph).rstrip()
        paragraph.clear()
        if text.strip():
            yield Block(text, headings.above())

    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            paragraph.append(line)
            fence = "" if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif mark:
            fence = mark[1]
            paragraph.append(line)
        elif heading := _ATX.fullmatch(line):
            yield from end()
            headings.enter(len(heading[1]), _without_closing(heading[2]))
        elif len(paragraph) == 1 and (under := _UNDERLINE.fullmatch(line)):
            title = paragraph.pop()
            headings.enter(1 if under[1][0] == "=" else 2, title)
        elif line.strip():
            paragraph.append(line)
        else:
            yield from end()
    yield from end()


def _without_closing(text: str) -> str:
    """The text of a heading without the row of '#' that may end it."""
    return text.rstrip(" \t").rstrip("#")
