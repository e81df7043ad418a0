"""Reasoning that a server leaves in the content of an answer: `<think>…</think>`, as models write it.

Servers that are told how their model reasons tell it apart by themselves. Of the others:

| content | becomes |
| --- | --- |
| begins with `<think>`, space before it aside | reasoning up to `</think>`, and the space behind that is left out |
| `<think>` that is never closed | reasoning to the end |
| the tags anywhere else | text, as it is: somebody writes about them |
| a lone `</think>`, where the template had opened the reasoning | text, tag and all, unless the backend's row says so |
| anything, where the row says that answers begin within the reasoning | reasoning up to `</think>`, or to the end |
| any of it, after reasoning in a field of its own | text: that server knows its model |

The lone tag stands behind text that has long been told, so that nobody but the row (`thinking_tags: opened`) can tell
what it is; or the server is told of its model (vLLM's `--reasoning-parser`, llama.cpp's `--reasoning-format`).
"""

from typing import Final

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class ThinkReader:
    """Tells reasoning and text apart in the content of one answer, cut anywhere. Text costs nothing once it began.

    `is_opened`: the answer begins within the reasoning, whether or not it tells the tag.
    """

    def __init__(self, *, is_opened: bool = False) -> None:
        self._held = ""
        self._is_opened = is_opened
        self._is_thinking = False
        self._is_behind = False
        self.is_text = False
        """Whether all that follows is text."""

    def read(self, content: str) -> tuple[str, str]:
        """The reasoning and the text in more of the content. What may be half a tag waits for the rest."""
        if self.is_text:
            return "", content
        content, self._held = self._held + content, ""
        thought = ""
        if not self._is_thinking and not self._is_behind:
            start = content.lstrip()
            if len(start) < len(_OPEN) and _OPEN.startswith(start):
                self._held = content
                return "", ""
            if start.startswith(_OPEN):
                content = start[len(_OPEN) :]
            elif not self._is_opened:
                self.is_text = True
                return "", content
            self._is_thinking = True
        if self._is_thinking:
            thought, tag, content = content.partition(_CLOSE)
            if not tag:
                keep = _overlap(thought, _CLOSE)
                self._held = thought[len(thought) - keep :]
                return thought[: len(thought) - keep], ""
            self._is_thinking, self._is_behind = False, True
        content = content.lstrip()
        self.is_text = bool(content)
        return thought, content

    def close(self) -> tuple[str, str]:
        """What waited in vain, when something else than content follows or nothing does. All that follows is text."""
        held, self._held = self._held, ""
        is_thought = self._is_thinking or (self._is_opened and not self._is_behind)
        self._is_thinking = False
        self.is_text = True
        return (held, "") if is_thought else ("", held)


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of a tag."""
    return next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-n:])), 0)
