"""What a file's text looks like once it is taken out of its format: blocks, in the order of reading."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a list entry, a table row or the like: text without empty lines.

    `headings` are those that it stands under, the outermost first; `page` counts from 1, where there are pages.
    """

    text: str
    headings: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """All that could be read. `note`, a sentence, says what could not."""

    blocks: tuple[Block, ...]
    note: str | None = None
