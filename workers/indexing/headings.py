"""The headings that a place in a document stands under."""

from typing import Final

LONGEST: Final = 300
"""Characters of a heading that are kept."""


class Headings:
    """Follows a document from its beginning: each heading ends those of its level and below."""

    def __init__(self, title: str = "") -> None:
        self._open: list[tuple[int, str]] = []
        if title:
            self.enter(0, title)

    def enter(self, level: int, text: str) -> None:
        """A heading; 1 is the highest level, 0 the document's own title."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        if told := " ".join(text.split())[:LONGEST]:
            self._open.append((level, told))

    def above(self) -> tuple[str, ...]:
        """The headings here, the outermost first; one that only says the title again is not among them."""
        return tuple(dict.fromkeys(text for _, text in self._open))
