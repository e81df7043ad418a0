"""Calls and what came of them, told in words: the model wrote the calls, and the user tells it the results."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.plain import Json
from workers.backends.emulation.wording import NUDGE, before_result, told_calls

_CALL: Final = "function_call"
_OUTPUT: Final = "function_call_output"


@dataclass(frozen=True, slots=True)
class Retold:
    """A conversation without calls. `places[n]` is where the n-th item of the new input began in the request's own."""

    history: list[Json]
    input_items: list[Json]
    places: Sequence[int]
    ends_with_results: bool


def has_calls(items: Iterable[Json]) -> bool:
    """Whether any function was called."""
    return any(item["type"] in (_CALL, _OUTPUT) for item in items)


def retell(history: Sequence[Json], input_items: Sequence[Json]) -> Retold:
    """The conversation with calls and their outputs as messages, those that belong together as one."""
    names = {item["call_id"]: item["name"] for item in (*history, *input_items) if item["type"] == _CALL}
    before, _ = _told(history, names)
    told, places = _told(input_items, names)
    last = (input_items or history or [{"type": None}])[-1]["type"]
    if last == _OUTPUT:
        items = told or before
        items[-1] = {**items[-1], "content": _joined([*items[-1]["content"], _text(NUDGE)])}
    return Retold(before, told, places, last == _OUTPUT)


def _told(items: Sequence[Json], names: dict[str, str]) -> tuple[list[Json], list[int]]:
    told: list[Json] = []
    places: list[int] = []
    at = 0
    while at < len(items):
        group = _group(items, at)
        told.append(_message(group, names))
        places.append(at)
        at += len(group)
    return told, places


def _group(items: Sequence[Json], at: int) -> Sequence[Json]:
    """The items that become one message, from `at` on."""
    kind = items[at]["type"]
    end = at + 1
    while kind in (_CALL, _OUTPUT) and end < len(items) and items[end]["type"] == kind:
        end += 1
    return items[at:end]


def _message(group: Sequence[Json], names: dict[str, str]) -> Json:
    kind = group[0]["type"]
    if kind == _CALL:
        text = {"type": "output_text", "text": told_calls(group), "annotations": []}
        message_id = f"msg_{group[0]['call_id']}"  # some formats tell a message of the model's by its id
        return {"type": "message", "id": message_id, "role": "assistant", "content": [text]}
    if kind == _OUTPUT:
        results = [_result(item, names) for item in group]
        content = [
            part for index, parts in enumerate(results) for part in ([_text("\n")] * bool(index) + parts)
        ]
        return {"type": "message", "role": "user", "content": _joined(content)}
    return group[0]


def _result(item: Json, names: dict[str, str]) -> list[Json]:
    output = item["output"]
    parts = [_text(output)] if isinstance(output, str) else output
    name: str = names.get(item["call_id"], "")
    return [_text(before_result(name or item["call_id"])), *parts]


def _joined(parts: Iterable[Json]) -> list[Json]:
    """The parts, neighbouring texts as one: some servers put a line's end between two, which is another turn to the
    model. A text keeps nothing but what it says.
    """
    joined: list[Json] = []
    for part in parts:
        if part["type"] != "input_text":
            joined.append(part)
        elif joined and joined[-1]["type"] == "input_text":
            joined[-1] = _text(joined[-1]["text"] + part["text"])
        else:
            joined.append(_text(part["text"]))
    return joined


def _text(text: str) -> Json:
    return {"type": "input_text", "text": text}
