"""What a file's text looks like once it is taken out of its format: blocks, in the order of reading."""

from dataclasses import asdict, dataclass

from responses_api.protocol.plain import Json, record_of


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

    def to_plain(self) -> Json:
        """The document as JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Json) -> "Document":
        """The inverse of `to_plain`."""
        blocks = [{**block, "headings": tuple(block["headings"])} for block in plain["blocks"]]
        return cls(tuple(record_of(Block, block) for block in blocks), plain["note"])
