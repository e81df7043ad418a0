"""Thought signatures: opaque marks on parts of a model's turn that have to come back on the very parts they came on.

A signature is reported as the state of a reasoning item, and the state says what it was on: what kind of part, and
enough about it to find it again when the client has dropped, edited or reordered what it may. The states:

- `{"on": "thought", "text", "signature"}`: a thought, given back whole;
- `{"on": "text", "at", "length", "digest", "signature"}`: so many characters of a text, from there on; `digest` is that
  of these, or of all before them where the part was empty;
- `{"on": "call", "name", "digest", "id", "signature"}`: a function call by its name and arguments; `id` is the
  upstream's own where it told one.

What is not found again has gone, and its signature with it.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final

from responses_api.protocol.plain import Json
from responses_api.protocol.wording import safe_text
from workers.backends.values import carriable

SIGNATURE: Final = "thoughtSignature"
DUMMY: Final = "skip_thought_signature_validator"
"""What the reference has for a call that no Gemini model made: without it, or a signature, the request is refused."""

Placed = tuple[int, Json]
"""A state, and how many parts of the turn came before it."""


def on_thought(text: str, signature: str) -> Json:
    """The state for the signature of a thought."""
    return carriable({"on": "thought", "text": safe_text(text), "signature": signature})


def on_text(text: str, before: str, signature: str) -> Json:
    """The state for the signature of a text that follows what the same message said `before`."""
    text, before = safe_text(text), safe_text(before)
    place = {"at": len(before), "length": len(text), "digest": _digest(text or before)}
    return carriable({"on": "text", **place, "signature": signature})


def on_call(name: str, arguments: Any, call_id: str | None, signature: str) -> Json:
    """The state for the signature of a call, `arguments` as JSON has them."""
    state = {"on": "call", "name": name, "digest": _digest_of(arguments), "signature": signature}
    return carriable({**state, "id": call_id} if call_id else state)


def give_back(parts: list[Json], states: Iterable[Placed]) -> list[Json]:
    """The parts of a model's turn with their signatures, and what only carries one put in between.

    A call that the upstream had another id for gets it back: whoever holds the answer to it reads it from the part.
    """
    placed = list(states)
    before: dict[int, list[Json]] = {}
    in_texts: dict[int, list[Json]] = {}
    signed: set[int] = set()
    for place, state in placed:
        if state["on"] == "call":
            _sign_call(parts, place, state, signed)
        elif state["on"] == "thought":
            thought = {"text": state["text"], "thought": True, SIGNATURE: state["signature"]}
            before.setdefault(place, []).append(thought)
        elif state["at"] == state["length"] == 0:
            before.setdefault(place, []).append({"text": "", SIGNATURE: state["signature"]})
        elif (index := _text_of(parts, place, state)) is not None:
            in_texts.setdefault(index, []).append(state)
    whole: list[Json] = []
    for index, part in enumerate(parts):
        whole += before.get(index, [])
        whole += _cut(part, in_texts[index]) if index in in_texts else [part]
    return whole + before.get(len(parts), [])


def sign_first_call(parts: list[Json]) -> None:
    """See to it that the first call of a turn has a signature: without one the whole request is refused."""
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None:
        first.setdefault(SIGNATURE, DUMMY)


def _sign_call(parts: list[Json], place: int, state: Json, signed: set[int]) -> None:
    """Sign the call that this is about, the next one after the state where several are alike."""
    alike = [
        index
        for index, part in enumerate(parts)
        if index not in signed
        and "functionCall" in part
        and part["functionCall"]["name"] == state["name"]
        and _digest_of(part["functionCall"]["args"]) == state["digest"]
    ]
    if not alike:
        return
    index = min(alike, key=lambda at: (at < place, abs(at - place)))
    signed.add(index)
    parts[index][SIGNATURE] = state["signature"]
    if state.get("id"):
        parts[index]["functionCall"]["id"] = state["id"]


def _text_of(parts: list[Json], place: int, state: Json) -> int | None:
    """Which text has these characters there, the one that the state stands by where several do."""
    at, until = state["at"], state["at"] + state["length"]
    start = at if until > at else 0
    having = [
        index
        for index, part in enumerate(parts)
        if len(part.get("text", "")) >= until and _digest(part["text"][start:until]) == state["digest"]
    ]
    # A state stands before the text that its part began, and behind one that had begun already.
    return min(
        having, key=lambda index: ((index < place) is (at == 0), abs(index + 0.5 - place)), default=None
    )


def _cut(part: Json, states: list[Json]) -> list[Json]:
    """A text as the parts it came in, as far as they were signed: none is joined with another."""
    text, pieces, end = part["text"], [], 0
    for state in sorted(states, key=lambda state: (state["at"], state["length"])):
        at, until = state["at"], state["at"] + state["length"]
        if at < end:
            continue
        if at > end:
            pieces.append({"text": text[end:at]})
        pieces.append({"text": text[at:until], SIGNATURE: state["signature"]})
        end = until
    return [*pieces, {"text": text[end:]}] if end < len(text) else pieces


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _digest_of(arguments: Any) -> str:
    return _digest(json.dumps(arguments, sort_keys=True, separators=(",", ":")))
