"""Reads a turn while the model writes it: text and calls are told as they come, whatever the pieces they come in.

The schema holds most models to the form. What is read besides, because some servers ignore a schema:

| what the model writes | becomes |
| --- | --- |
| no turn at all | its text, as it is: a plain answer |
| text before or after a turn, perhaps with the turn in a fence of Markdown | that text; the fence is left out |
| JSON of its own, or a block of code | its text, as it is, to its end |
| several turns | what each of them says, in order |
| a quotation mark in an answer without its backslash | that mark |
| fields that a turn does not have | their text |
| arguments as a JSON string, or `null` | what the string says; none |
| an end within the turn | what was told up to there: nobody else knows whether it is whole |
"""

import re
from collections.abc import Callable
from typing import Final

from workers.backends.emulation.strings import RawValue, StringValue
from workers.backends.parts import CallDelta, Part, TextDelta

ANSWER: Final = "answer"
TOOL: Final = "tool"
ARGUMENTS: Final = "arguments"
ALSO: Final = "also"

_TEXT: Final = "text of a turn"
_CALL: Final = "call of a turn"
_FENCE: Final = r"(?:```[a-zA-Z]*\s*)"
_TURN: Final = re.compile(rf'{_FENCE}?\{{(?=\s*"(?:{ANSWER}|{TOOL}|{ARGUMENTS})"\s*:)')
_PART_OF_A_TURN: Final = re.compile(rf'`{{0,2}}|{_FENCE}?(?:\{{\s*(?:"[a-z]{{0,9}}(?:"\s*)?)?)?')
_BRACKET: Final = re.compile(r"\{|```|`{1,2}\Z")
_FIELD: Final = re.compile(r'[\s,]*"([^"\\]{0,64})"\s*:\s*')
_PART_OF_A_FIELD: Final = re.compile(r'[\s,]*(?:"[^"\\]{0,64}(?:"\s*)?)?')
_END: Final = re.compile(r"[\s,]*\}")
_END_OF_ANSWER: Final = re.compile(r'\s*(?=\}|,\s*")')
_PART_OF_AN_END: Final = re.compile(r"\s*(?:,\s*)?")
_SEPARATORS: Final = re.compile(r"\A[\s,]+")
_NEXT: Final = re.compile(r"[\s,]*([\{\]])")
_MOST_HELD: Final = 256


class TurnReader:
    """Reads one answer. `call_id` makes the id of its n-th call, `is_json` says that the answer is JSON of its own."""

    def __init__(self, call_id: Callable[[int], str], *, is_json: bool = False) -> None:
        self._call_id = call_id
        self._is_json = is_json
        self._read: Callable[[str], str] = self._read_prose
        self._held = ""
        self._parts: list[Part] = []
        self._is_fenced = False
        self._has_spoken = False
        self._texts = 0
        self._is_further = False
        self._in_also = False
        self._calls: list[_Call] = []
        self._string = StringValue()
        self._raw = RawValue()
        self._field = ""

    @property
    def has_called(self) -> bool:
        """Whether there was any call."""
        return bool(self._calls)

    def feed(self, piece: str) -> list[Part]:
        """The parts that a piece of the model's text completes."""
        text, self._held = self._held + piece, ""
        while text:
            text = self._read(text)
        return self._told()

    def close(self, *, is_cut: bool) -> list[Part]:
        """The rest, once the model has ended; `is_cut`: not of its own will, so that half a bracket means nothing."""
        if self._read in (self._read_prose, self._read_field):
            self._say(self._rest_of_prose(is_cut))
        elif self._read in (self._read_text, self._read_string_of_arguments) and not is_cut:
            self._tell(self._string.rest())
        elif self._read == self._read_raw:
            self._tell(self._raw.rest())
        for call in self._calls:
            if not call.name:
                self._parts.append(call.delta())
        return self._told()

    def _rest_of_prose(self, is_cut: bool) -> str:
        """What was held for a turn, or for a field of one, that never was."""
        marks = self._held.strip(" \t\r\n,")
        if not marks and self._texts:
            return ""
        # Where nothing was said yet, a bracket that was cut off is that of the turn.
        is_mark = (
            marks[:1] == '"' if self._read == self._read_field else "{" in marks and not self._has_spoken
        )
        return "" if is_cut and is_mark else self._held

    def _told(self) -> list[Part]:
        parts, self._parts = self._parts, []
        return parts

    def _hold(self, text: str) -> str:
        """Keep a text until more of it is there."""
        self._held = text
        return ""

    # ------------------------------------------------------------------ around a turn

    def _read_prose(self, text: str) -> str:
        if not self._has_spoken and text.lstrip().startswith("["):
            self._read = self._read_to_the_end
            return text
        bracket = _BRACKET.search(text)
        if bracket is None:
            if self._has_spoken or text.strip():
                return self._say(text)
            return self._hold(text) if len(text) < _MOST_HELD else self._say(text)
        before, rest = text[: bracket.start()], text[bracket.start() :]
        if turn := _TURN.match(rest):
            if self._has_spoken or before.strip():
                self._say(before)
            self._begin(rest.startswith("`"))
            return rest[turn.end() :]
        if len(rest) < _MOST_HELD and _PART_OF_A_TURN.fullmatch(rest):
            return self._hold(
                text if not before.strip() and not self._has_spoken else self._say(before) or rest
            )
        if rest.startswith("`") and not rest.startswith("```"):
            self._say(before + rest.rstrip("`"))
            return rest
        self._read = self._read_to_the_end
        return text

    def _read_to_the_end(self, text: str) -> str:
        return self._say(text)

    def _begin(self, is_fenced: bool) -> None:
        self._is_fenced = is_fenced
        self._texts += 1
        self._is_further = False
        self._in_also = False
        self._read = self._read_field

    def _read_after(self, text: str) -> str:
        fence = text.lstrip()
        if self._is_fenced and "```".startswith(fence[:3]):
            if len(fence) < 3:
                return self._hold(text) if len(text) < _MOST_HELD else ""
            text = fence[3:]
        self._is_fenced = self._has_spoken = False
        self._read = self._read_prose
        return text

    def _say(self, text: str) -> str:
        """Tell text of the answer; nothing is left of it."""
        if text:
            self._has_spoken = True
            self._parts.append(TextDelta((_TEXT, self._texts), text))
        return ""

    # ------------------------------------------------------------------ the fields of a turn

    def _read_field(self, text: str) -> str:
        if field := _FIELD.match(text):
            self._field = field[1]
            self._read = self._read_value
            return text[field.end() :]
        if end := _END.match(text):
            self._read = self._read_also if self._in_also else self._read_after
            return text[end.end() :]
        if len(text) < _MOST_HELD and _PART_OF_A_FIELD.fullmatch(text):
            return self._hold(text)
        self._read = self._read_to_the_end
        return text

    def _read_value(self, text: str) -> str:
        text = text.lstrip()
        if not text:
            return ""
        if self._field == ALSO and text[0] == "[" and not self._in_also:
            self._in_also = True
            self._read = self._read_also
            return text[1:]
        self._string, self._raw = StringValue(), RawValue()
        self._texts += 1
        if self._field in (TOOL, ARGUMENTS):
            self._begin_call_field()
        if text[0] != '"' or (self._field == ANSWER and self._is_json):
            is_nothing = text[0] == "n" and self._field != ANSWER
            self._read = self._pass_over if is_nothing else self._read_raw
            return text
        self._read = {TOOL: self._read_name, ARGUMENTS: self._read_string_of_arguments}.get(
            self._field, self._read_text
        )
        return text[1:]

    def _read_raw(self, text: str) -> str:
        said, rest = self._raw.feed(text)
        self._tell(said)
        return self._go_on(rest)

    def _pass_over(self, text: str) -> str:
        return self._go_on(self._raw.feed(text)[1])

    def _read_string_of_arguments(self, text: str) -> str:
        said, rest = self._string.feed(text)
        self._tell(said)
        return self._go_on(rest)

    def _read_text(self, text: str) -> str:
        said, rest = self._string.feed(text)
        self._tell(said)
        if rest is not None:
            self._read = self._read_end_of_text
        return rest or ""

    def _read_end_of_text(self, text: str) -> str:
        """Behind the quotation mark that may end a text: it does where the turn ends, or goes on as a turn does."""
        if _END_OF_ANSWER.match(text):
            return self._go_on(text)
        if len(text) < _MOST_HELD and _PART_OF_AN_END.fullmatch(text):
            return self._hold(text)
        self._tell('"')
        self._read = self._read_text
        return text

    def _go_on(self, rest: str | None) -> str:
        """With the next field, once a value has come to its end."""
        if rest is not None:
            self._read = self._read_field
        return rest or ""

    # ------------------------------------------------------------------ calls

    def _begin_call_field(self) -> None:
        """A field of the call in the making; of another one where that has the field already."""
        if not self._is_further or self._field in self._calls[-1].fields:
            self._calls.append(_Call(len(self._calls), self._call_id(len(self._calls))))
            self._is_further = True
        self._calls[-1].fields.add(self._field)

    def _read_name(self, text: str) -> str:
        said, rest = self._string.feed(text)
        call = self._calls[-1]
        call.pieces.append(said)
        if rest is not None:
            call.name = "".join(call.pieces)
            if call.name:
                self._parts.append(call.delta())
        return self._go_on(rest)

    def _read_also(self, text: str) -> str:
        found = _NEXT.match(text)
        if found is None:
            # What separates calls says nothing, whatever follows it, and whether that has come already.
            rest = _SEPARATORS.sub("", text, count=1)
            if rest:
                self._read = self._read_to_the_end
            return rest
        self._is_further = False
        self._in_also = found[1] == "{"
        self._read = self._read_field
        return text[found.end() :]

    def _tell(self, said: str) -> None:
        """Tell more of the value of this field."""
        if self._field != ARGUMENTS and self._field != TOOL:
            self._say(said)
        elif said:
            self._parts.append(self._calls[-1].delta(said))


class _Call:
    """A call in the making."""

    __slots__ = ("fields", "id", "key", "name", "pieces")

    def __init__(self, number: int, id: str) -> None:
        self.key = (_CALL, number)
        self.id = id
        self.name = ""
        self.pieces: list[str] = []
        self.fields: set[str] = set()

    def delta(self, arguments: str = "") -> CallDelta:
        """More of it. Its name is told once, by itself."""
        return CallDelta(self.key, self.id, None if arguments else self.name or None, arguments)
