"""Patterns in which `*` stands for any characters, none included, and everything else for itself, in its own case.

No regular expressions: what people write into a pattern must not take longer than its length to judge by.
"""

from typing import Final

ANY: Final = "*"


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text is as the pattern says."""
    first, *others = pattern.split(ANY)
    if not others:
        return text == pattern
    *middle, last = others
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        # The earliest place leaves the most for what follows, so the first find is as good as any.
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True
