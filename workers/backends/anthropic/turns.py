"""A conversation of items as turns of the user and the assistant, and the instructions that stand before it.

The format wants turns to alternate, the first and the last to be the user's, and the results of all calls of a turn at
the very beginning of the next one. Blocks of thinking stand where they stood, before the calls that came of them.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Final

from responses_api.protocol.job import STATE
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from workers.backends.anthropic import media
from workers.backends.anthropic.calls import CallIds, input_of
from workers.backends.given import Given, answers, given_items
from workers.backends.refusals import nothing_to_say

THINKING: Final = frozenset({"thinking", "redacted_thinking"})
BEGINNING: Final = "(The conversation began earlier.)"
GOING_ON: Final = "(Go on.)"

_TEXT_TYPES: Final = frozenset({"input_text", "output_text", "text"})
_INSTRUCTING: Final = frozenset({"system", "developer"})

Turn = tuple[str, list[Json]]


def build_turns(
    instructions: str | None, context: Sequence[Json], new_from: int, *, wants_signatures: bool
) -> tuple[list[Json], list[Json]]:
    """The blocks of the system prompt and the messages; `context[new_from:]` is the request's own input.

    With `wants_signatures` thinking that was told without one is left out: who signs refuses it.
    Raises `ProtocolError` 400 for content that the format cannot carry, and where nothing is left to say.
    """
    conversation = _Conversation(wants_signatures)
    if instructions:
        conversation.instruct(instructions)
    items = list(given_items(context, new_from))
    answered = answers(items)
    for index, item in enumerate(items):
        _add(conversation, item, answered.get(index))
    return conversation.system, conversation.messages()


def _add(conversation: "_Conversation", item: Given, answer: Given | None) -> None:
    kind = item.value["type"]
    if kind == "message":
        _add_message(conversation, item)
    elif kind == "function_call":
        conversation.call(item.value, _result(answer) if answer is not None else None)
    elif kind == "function_call_output":
        # Told already, right behind the calls; what is called after it belongs to the next round.
        conversation.end_round()
    elif kind == "reasoning":
        conversation.think(item.value.get(STATE) or ())
    elif not is_foreign(kind):
        raise item.refuse(f"Items of type '{quoted(kind)}'", ".type")


def _add_message(conversation: "_Conversation", item: Given) -> None:
    role, parts = item.value["role"], item.value["content"]
    if role in _INSTRUCTING:
        for block in _blocks(item, parts, ".content"):
            conversation.instruct(block["text"])
    elif role == "assistant":
        conversation.say([block for part in parts for block in _said(part)])
    else:
        conversation.hear(_blocks(item, parts, ".content"))


class _Conversation:
    """The turns so far, and the results of the calls of the round that may still grow."""

    def __init__(self, wants_signatures: bool) -> None:
        self.system: list[Json] = []
        self._wants_signatures = wants_signatures
        self._turns: list[Turn] = []
        self._results: list[Json] = []
        self._ids = CallIds()

    def instruct(self, text: str) -> None:
        self.system += _text(text)

    def hear(self, blocks: list[Json]) -> None:
        self.end_round()
        self._turns.append(("user", blocks))

    def say(self, blocks: list[Json]) -> None:
        self._turns.append(("assistant", blocks))

    def think(self, states: Iterable[Json]) -> None:
        """What the upstream told of its thinking, as it told it."""
        known = (state for state in states if state.get("type") in THINKING)
        self.say([state for state in known if not self._wants_signatures or _is_signed(state)])

    def call(self, item: Json, result: list[Json] | None) -> None:
        id = self._ids.next(item["call_id"])
        name, arguments = item["name"], input_of(item["arguments"])
        self.say([{"type": "tool_use", "id": id, "name": name, "input": arguments}])
        if result is not None:
            told: Json = {"type": "tool_result", "tool_use_id": id}
            self._results.append({**told, "content": result} if result else told)

    def end_round(self) -> None:
        """The answers to the calls follow them at once."""
        if self._results:
            self._turns.append(("user", self._results))
            self._results = []

    def messages(self) -> list[Json]:
        """The messages, as the format wants them."""
        self.end_round()
        turns = _joined((role, _without_last_thoughts(role, blocks)) for role, blocks in _joined(self._turns))
        if not turns and not self.system:
            raise nothing_to_say()
        if turns and turns[0][0] == "assistant":
            turns.insert(0, ("user", _text(BEGINNING)))
        if not turns or turns[-1][0] == "assistant":
            turns.append(("user", _text(GOING_ON)))
        return [{"role": role, "content": blocks} for role, blocks in turns]


def _joined(turns: Iterable[Turn]) -> list[Turn]:
    """The turns that have something in them, neighbours of one role as one."""
    filled = (turn for turn in turns if turn[1])
    return [
        (role, [block for _, blocks in run for block in blocks])
        for role, run in groupby(filled, key=lambda turn: turn[0])
    ]


def _without_last_thoughts(role: str, blocks: list[Json]) -> list[Json]:
    """A turn of the assistant may not end with a thought that led to nothing."""
    end = len(blocks)
    while role == "assistant" and end and blocks[end - 1]["type"] in THINKING:
        end -= 1
    return blocks[:end]


def _is_signed(state: Json) -> bool:
    return state["type"] != "thinking" or bool(state.get("signature"))


def _result(answer: Given) -> list[Json]:
    output = answer.value["output"]
    return _text(output) if isinstance(output, str) else _blocks(answer, output, ".output")


def _said(part: Json) -> list[Json]:
    return _text(part["refusal"] if part["type"] == "refusal" else part["text"])


def _blocks(item: Given, parts: Sequence[Json], field: str) -> list[Json]:
    return [block for index, part in enumerate(parts) for block in _block(item, part, f"{field}[{index}]")]


def _block(item: Given, part: Json, path: str) -> list[Json]:
    if part["type"] in _TEXT_TYPES:
        return _text(part["text"])
    convert = _MEDIA.get(part["type"])
    if convert is None:
        raise item.refuse(f"Content parts of type '{quoted(part['type'])}'", path + ".type")
    return [convert(part, lambda what, field: item.refuse(what, path + field))]


def _text(text: str) -> list[Json]:
    """A block, or none: the format refuses text that is empty or only space."""
    return [{"type": "text", "text": text}] if text.strip() else []


_MEDIA: Final[dict[str, Callable[[Json, media.Refuse], Json]]] = {
    "input_image": media.image,
    "input_file": media.file,
}
