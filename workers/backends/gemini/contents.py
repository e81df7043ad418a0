"""A conversation of items as `contents` and `systemInstruction`.

The format knows two roles, which take turns. A model's turn holds all that it said and called until it was answered, in
its order; the answers to its calls follow at once, all in one content, in the order of the calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from responses_api.protocol.job import STATE
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from workers.backends.gemini.media import media_part
from workers.backends.gemini.signatures import Placed, give_back, sign_first_call
from workers.backends.given import Given, answers, given_items

_TEXT_TYPES = frozenset({"input_text", "output_text", "text"})
_MEDIA_TYPES = frozenset({"input_image", "input_file", "input_video"})
_IN_ANSWERS = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})
"""What an answer to a call may hold itself, in the models that let it hold anything but JSON."""

_NOTHING: Final[Json] = {"role": "user", "parts": [{"text": " "}]}
"""Stands before a conversation that no user began: the API demands that one does."""


@dataclass(slots=True)
class Told:
    """What is sent of a conversation."""

    contents: list[Json] = field(default_factory=list)
    instructions: list[Json] = field(default_factory=list)


def build_contents(
    instructions: str | None, context: Sequence[Json], new_from: int, *, is_early: bool = False
) -> Told:
    """The contents of canonical items, oldest first; `context[new_from:]` is the request's own input.

    A model's turn gets its signatures back; a call that has none gets the one that stands for it, unless the model
    `is_early`. Items of other types belong to the conversation and not to this format: they are left out.

    Raises `ProtocolError` 400 for content that the format cannot carry.
    """
    conversation = _Conversation(is_early)
    if instructions:
        conversation.told.instructions.append({"text": instructions})
    items = list(given_items(context, new_from))
    answering = answers(items)
    for index, item in enumerate(items):
        conversation.take(item, answering.get(index))
    conversation.end_turn()
    told = conversation.told
    if not told.contents or told.contents[0]["role"] != "user":
        told.contents.insert(0, _NOTHING)
    return told


@dataclass(slots=True)
class _Answer:
    """The answer to a call: its text, and the images and files that belong to it."""

    text: str
    media: list[Json]


class _Conversation:
    """The contents so far, and the model's turn that may still grow."""

    def __init__(self, is_early: bool) -> None:
        self.told = Told()
        self._is_early = is_early
        self._parts: list[Json] = []
        self._states: list[Placed] = []
        self._calls: list[tuple[Json, _Answer]] = []

    def take(self, item: Given, answer: Given | None) -> None:
        """The next item; of a call also its answer. Raises `ProtocolError` 400 for content that cannot be carried."""
        kind = item.value["type"]
        if kind == "function_call":
            self.call(item, answer)
        elif kind == "function_call_output":
            # Told already, right behind the calls; what is called after it belongs to the next round.
            self.end_turn()
        elif kind == "message":
            self.say(item)
        elif kind == "reasoning":
            self.think(item.value.get(STATE) or ())
        elif not is_foreign(kind):
            raise item.refuse(f"Items of type '{quoted(kind)}'", ".type")

    def say(self, item: Given) -> None:
        role = item.value["role"]
        if role == "assistant":
            self._parts += [part for part in map(_said, item.value["content"]) if part["text"]]
            return
        if role in ("system", "developer"):
            # There is no such role: all that the system and the developer demand is told before the conversation.
            self.told.instructions += _parts(item, "content")
            return
        self.end_turn()
        parts = _parts(item, "content")
        if parts:
            self._add("user", parts)

    def think(self, states: Sequence[Json]) -> None:
        """Signatures of the turn, where they came."""
        self._states += [(len(self._parts), state) for state in states]

    def call(self, item: Given, answer: Given | None) -> None:
        value = item.value
        call = {"id": value["call_id"], "name": value["name"], "args": _arguments(item)}
        self._parts.append({"functionCall": call})
        if answer is not None:
            self._calls.append((call, _output(answer)))

    def end_turn(self) -> None:
        """Somebody else speaks."""
        parts = give_back(self._parts, self._states)
        if parts:
            if not self._is_early:
                sign_first_call(parts)
            self._add("model", parts)
        if self._calls:
            self._answer()
        self._parts, self._states, self._calls = [], [], []

    def _answer(self) -> None:
        """All answers of the round. They stand alone: what a user says beside them comes in the next content."""
        responses: list[Json] = []
        beside: list[Json] = []
        for call, answer in self._calls:
            response: Json = {"id": call["id"], "name": call["name"], "response": {"output": answer.text}}
            held = [] if self._is_early else [media for media in answer.media if _may_be_held(media)]
            if held:
                response["parts"] = held
            beside += [media for media in answer.media if media not in held]
            responses.append({"functionResponse": response})
        self.told.contents.append({"role": "user", "parts": responses})
        if beside:
            self.told.contents.append({"role": "user", "parts": beside})

    def _add(self, role: str, parts: list[Json]) -> None:
        """Go on with the content of the same role, unless it answers calls."""
        last = self.told.contents[-1] if self.told.contents else None
        if last is not None and last["role"] == role and "functionResponse" not in last["parts"][0]:
            last["parts"] += parts
        else:
            self.told.contents.append({"role": role, "parts": parts})


def _output(item: Given) -> _Answer:
    output = item.value["output"]
    if isinstance(output, str):
        return _Answer(output, [])
    parts = _parts(item, "output")
    return _Answer(
        "".join(part["text"] for part in parts if "text" in part),
        [part for part in parts if "text" not in part],
    )


def _may_be_held(media: Json) -> bool:
    return media.get("inlineData", {}).get("mimeType") in _IN_ANSWERS


def _parts(item: Given, holder: str) -> list[Json]:
    """What a user, a system or a function says. An empty text says nothing, and is refused by the API."""
    parts = [_part(item, part, f".{holder}[{index}]") for index, part in enumerate(item.value[holder])]
    return [part for part in parts if part.get("text") != ""]


def _part(item: Given, part: Json, path: str) -> Json:
    kind = part["type"]
    if kind in _TEXT_TYPES:
        return {"text": part["text"]}
    if kind not in _MEDIA_TYPES:
        raise item.refuse(f"Content parts of type '{quoted(kind)}'", path + ".type")
    return media_part(part, lambda what: item.refuse(what, path))


def _said(part: Json) -> Json:
    """A part of what the model said; a refusal has no place of its own here, and is what it said as well."""
    return {"text": part["refusal"] if part["type"] == "refusal" else part["text"]}


def _arguments(item: Given) -> Any:
    """The arguments as the object that they have to be here; models do write other things, and get them back so."""
    text = item.value["arguments"]
    try:
        value = orjson.loads(text) if text.strip() else {}
    except orjson.JSONDecodeError:
        value = text
    return value if isinstance(value, dict) else {"arguments": value}
