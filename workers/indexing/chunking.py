"""Cuts a document into chunks: passages that say something by themselves, and that an embedding model reads whole.

A chunk is what stands under one heading, several short sections or a part of a long one. Parts of a long one overlap,
so that a sentence is found with what stands before it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from workers.indexing.document import Block, Document

MOST_TOKENS: Final = 220
"""About how many tokens a chunk has at most, so that with its headings it fits a model that reads 256."""
_ENOUGH_TOKENS: Final = 110
"""A chunk that has as many ends where the next section begins."""
_OVERLAP_TOKENS: Final = 40

# About what a model's tokenizer makes of text: pieces of words, digits, signs; each character where there are no words.
# A model passes over spaces, but a passage of nothing else, however long, is none.
_TOKENS: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\d_]{1,6}|\d{1,3}|[^\w\s]|_|\s{32}"
)
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage, the headings that it begins under, and the page that it begins on."""

    text: str
    headings: tuple[str, ...]
    page: int | None


def count_tokens(text: str) -> int:
    """About how many tokens a text has."""
    return sum(1 for _ in _TOKENS.finditer(text))


def chunks(document: Document) -> Iterator[Chunk]:
    """The chunks of a document, in its order."""
    gathered: list[Block] = []
    tokens = 0
    for block in _cut(document.blocks):
        size = count_tokens(block.text)
        is_new_section = bool(gathered) and block.headings != gathered[-1].headings
        if gathered and (tokens + size > MOST_TOKENS or (is_new_section and tokens >= _ENOUGH_TOKENS)):
            yield _joined(gathered)
            gathered = [] if is_new_section else _overlap(gathered)
            tokens = sum(count_tokens(kept.text) for kept in gathered)
            if tokens + size > MOST_TOKENS:
                gathered, tokens = [], 0
        gathered.append(block)
        tokens += size
    if gathered:
        yield _joined(gathered)


def _joined(blocks: Sequence[Block]) -> Chunk:
    """The blocks as one text; where another section begins within it, its heading stands there."""
    first = blocks[0]
    pieces = [first.text]
    for before, block in pairwise(blocks):
        if block.headings and block.headings != before.headings:
            pieces.append(block.headings[-1])
        pieces.append(block.text)
    return Chunk("\n".join(pieces), first.headings, first.page)


def _overlap(blocks: Sequence[Block]) -> list[Block]:
    """The last blocks of a chunk, as far as they are short, with which the next one begins."""
    kept: list[Block] = []
    tokens = 0
    for block in reversed(blocks):
        tokens += count_tokens(block.text)
        if tokens > _OVERLAP_TOKENS:
            break
        kept.insert(0, block)
    return kept


def _cut(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks, long ones in pieces: sentences or lines, and where one of these is too long by words."""
    for block in blocks:
        if count_tokens(block.text) <= MOST_TOKENS:
            yield block
            continue
        for sentence in _SENTENCES.split(block.text):
            for piece in _pieces(sentence):
                yield Block(piece, block.headings, block.page)


def _pieces(text: str) -> Iterator[str]:
    begin = 0
    for count, token in enumerate(_TOKENS.finditer(text), start=1):
        if count % MOST_TOKENS == 0:
            end = token.end()
            if piece := text[begin:end].strip():
                yield piece
            begin = end
    if rest := text[begin:].strip():
        yield rest
