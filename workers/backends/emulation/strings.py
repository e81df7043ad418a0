"""JSON values that come in pieces, cut anywhere: strings unescaped as they come, anything else as it is written.

Each reader is fed pieces of text, the value's first character included for `RawValue` and left out for `StringValue`.
It returns what the piece adds and what follows the value, None where the value goes on.
"""

import re
from typing import Final

from responses_api.protocol.wording import REPLACEMENT

_PLAIN: Final = re.compile(r'[^"\\]+')
_ESCAPES: Final = {
    '"': '"',
    "\\": "\\",
    "/": "/",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
}
_UNIT: Final = re.compile(r"\\u([0-9a-fA-F]{4})")
_PART_OF_A_UNIT: Final = re.compile(r"\\(u[0-9a-fA-F]{0,3})?")
_OUTSIDE: Final = re.compile(r'[^"{}\[\]]+')
_INSIDE: Final = re.compile(r'(?:[^"\\]|\\.)+', re.DOTALL)
_SCALAR_END: Final = re.compile(r"[\s,}\]]")


class StringValue:
    """The text that a JSON string stands for. Half of a surrogate pair that has no other half becomes U+FFFD."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> tuple[str, str | None]:
        """What a piece adds, and what follows the closing quote."""
        text, self._held = self._held + piece, ""
        said: list[str] = []
        at = 0
        while at < len(text):
            if plain := _PLAIN.match(text, at):
                said.append(plain[0])
                at = plain.end()
            elif text[at] == '"':
                return "".join(said), text[at + 1 :]
            else:
                step = _unescape(text, at, said)
                if not step:
                    self._held = text[at:]
                    break
                at += step
        return "".join(said), None

    def rest(self) -> str:
        """What was held back of an escape that was never whole."""
        held, self._held = self._held, ""
        return REPLACEMENT + held[6:] if _UNIT.match(held) else held


def _unescape(text: str, at: int, said: list[str]) -> int:
    """Add what the escape at `at` stands for; its length, 0 where it is not whole yet."""
    unit = _UNIT.match(text, at)
    if unit is not None:
        return _unescape_unit(text, at, int(unit[1], 16), said)
    if _PART_OF_A_UNIT.fullmatch(text, at):
        return 0
    # A letter that escapes nothing is what somebody wrote, and stays.
    said.append(_ESCAPES.get(text[at + 1], text[at : at + 2]))
    return 2


def _unescape_unit(text: str, at: int, code: int, said: list[str]) -> int:
    if not 0xD800 <= code < 0xDC00:
        said.append(REPLACEMENT if 0xDC00 <= code < 0xE000 else chr(code))
        return 6
    other = _UNIT.match(text, at + 6)
    if other is None and (at + 6 == len(text) or _PART_OF_A_UNIT.fullmatch(text, at + 6)):
        return 0
    low = int(other[1], 16) if other else 0
    if not 0xDC00 <= low < 0xE000:
        said.append(REPLACEMENT)
        return 6
    said.append(chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)))
    return 12


class RawValue:
    """A JSON value as it is written. Which bracket closes which is not looked at, only how many are open."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_inside = False
        self._is_scalar = False
        self._held = ""

    def feed(self, piece: str) -> tuple[str, str | None]:
        """What a piece adds, and what follows the value."""
        text, self._held = self._held + piece, ""
        at = 0
        if text and not self._depth and not self._is_inside and text[0] not in '{["':
            self._is_scalar = True
        while at < len(text):
            if self._is_scalar:
                end = _SCALAR_END.search(text, at)
                return (text, None) if end is None else (text[: end.start()], text[end.start() :])
            at = self._step(text, at)
            if not self._depth and not self._is_inside and not self._held:
                return text[:at], text[at:]
        return text[: len(text) - len(self._held)], None

    def rest(self) -> str:
        """A backslash that was held back for what it escapes."""
        held, self._held = self._held, ""
        return held

    def _step(self, text: str, at: int) -> int:
        """Read on from `at`; where to go on."""
        if self._is_inside:
            if inside := _INSIDE.match(text, at):
                return inside.end()
            if text[at] == "\\":
                self._held = text[at:]
                return len(text)
            self._is_inside = False
            return at + 1
        if outside := _OUTSIDE.match(text, at):
            return outside.end()
        if text[at] == '"':
            self._is_inside = True
        else:
            self._depth += 1 if text[at] in "{[" else -1
        return at + 1
