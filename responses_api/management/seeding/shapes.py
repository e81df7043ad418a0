"""The turns that `seed_load` repeats: requests, items and scores, made by the code that makes real ones.

A shape is JSON text with places that the database fills in, row by row, so that no two responses are alike. A place
inside of told text is as long as what it becomes: the score of the stream counts characters.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.ids import item_prefix
from responses_api.protocol.plain import Json
from responses_api.protocol.request import parse_create
from responses_api.protocol.response import stored_item
from responses_api.protocol.score import delta_signs
from responses_api.protocol.sse import encode

ITEM_ID: Final = "{id}"
MODEL: Final = "{model}"
PREVIOUS: Final = "{previous}"
CALL: Final = "{call}"
PREVIOUS_CALL: Final = "{previous call}"
NUMBER: Final = "#######"
"""Becomes the number of the response, in seven digits."""

FEWEST_ITEMS: Final = 2
MOST_ITEMS: Final = 100

_PIXEL: Final = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGOQaNiCFTEMLQkAskQwgRJd5BcAAAAA"
    "SUVORK5CYII="
)
_QUESTIONS: Final = (
    f"Order {NUMBER} has not arrived yet. Where is it?",
    f"Please look up the invoice {NUMBER} and tell me what is open.",
    f"Wie ist der Stand von Vorgang {NUMBER}?",
    f"Can you summarise ticket {NUMBER} in two sentences?",
    f"请查询订单 {NUMBER} 的状态。",
    f"The build {NUMBER} is red. Which test failed, and since when?",
)
_ANSWERS: Final = (
    f"Order {NUMBER} left the warehouse on Tuesday and is with the carrier. It should reach you within two working "
    "days; I have asked them to send you a message before they come.",
    f"The invoice {NUMBER} has two positions. The first was paid in full; of the second one 48.20 € are still open, "
    "due by the end of the month.",
    f"Der Vorgang {NUMBER} liegt seit gestern bei der Prüfung. Sobald sie abgeschlossen ist, "
    "erhalten Sie eine Nachricht.",
    f"Ticket {NUMBER} is about a login that fails after a change of the address. A fix is being tested and will be "
    "rolled out tomorrow.",
    f"订单 {NUMBER} 已经发货，预计两天内送达。",
    f"In build {NUMBER} one test fails: the export of large tables runs out of time. It has done so since the last "
    "change of the reader; nothing else is affected.",
)
_THOUGHTS: Final = (
    f"The user asks about {NUMBER}. I look it up first, then I answer with what matters to them."
)
_TOOL: Final[Json] = {
    "type": "function",
    "name": "look_up",
    "description": "Looks a case up by its number.",
    "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
}
_PIECE: Final = re.compile(r"\s*\S+\s*?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SeedItem:
    """One item of a shape: its id's prefix, whether the model wrote it, and the item as JSON text."""

    prefix: str
    is_output: bool
    data: str


@dataclass(frozen=True, slots=True)
class Shape:
    """One turn: whether it begins a conversation, the request as JSON text, the score of its stream, its items."""

    is_first: bool
    is_failed: bool
    request: str
    score: str | None
    items: tuple[SeedItem, ...]


def shapes(items: int) -> list[Shape]:
    """Turns of so many items each, which must be between `FEWEST_ITEMS` and `MOST_ITEMS`.

    Those that begin a conversation, those that continue one, and of each kind those that fail.
    """
    return [
        _shape(variant, items, is_first=is_first, is_failed=is_failed)
        for is_first in (True, False)
        for is_failed in (False, True)
        for variant in range(len(_QUESTIONS))
    ]


def _shape(variant: int, items: int, *, is_first: bool, is_failed: bool) -> Shape:
    calls = items >= 5
    given = list(_input(variant, calls=calls, is_first=is_first, is_wide=items > FEWEST_ITEMS))
    body = {
        "model": MODEL,
        "input": given,
        "stream": variant % 3 != 0,
        "instructions": "Be brief and friendly.",
        "tools": [_TOOL] if calls else [],
        "previous_response_id": None if is_first else PREVIOUS,
        "temperature": (None, 0.2, 0.7)[variant % 3],
    }
    request = parse_create(body)
    inputs = [stored_item(item, ITEM_ID) for item in request.input]
    outputs = list(_output(variant, items - len(inputs), calls=calls))
    if is_failed:
        outputs[-1] = {**_message(_ANSWERS[variant]), "status": "incomplete"}
    return Shape(
        is_first=is_first,
        is_failed=is_failed,
        request=_text({**request.to_plain(), "input": []}),
        # What broke off is told from its items, as what an older version stored.
        score=None if is_failed else _text({"dialect": "open", "signs": _signs(outputs)}),
        items=tuple(
            SeedItem(item_prefix(item["type"]), is_output, _text(item))
            for is_output, told in ((False, inputs), (True, outputs))
            for item in told
        ),
    )


def _input(variant: int, *, calls: bool, is_first: bool, is_wide: bool) -> Iterator[Json]:
    if not is_first and calls:
        output = f'{{"number":"{NUMBER}","state":"found"}}'
        yield {"type": "function_call_output", "call_id": PREVIOUS_CALL, "output": output}
    elif is_wide:
        yield {"role": "developer", "content": f"The customer's number is {NUMBER}."}
    question: Json = {"type": "input_text", "text": _QUESTIONS[variant]}
    picture: Json = {"type": "input_image", "image_url": _PIXEL, "detail": "low"}
    yield {"role": "user", "content": [question, picture] if variant == 3 else [question]}


def _output(variant: int, count: int, *, calls: bool) -> Iterator[Json]:
    """`count` items: a reasoning and a call where there is room for them, then messages."""
    if calls:
        summary = [{"type": "summary_text", "text": f"Looking {NUMBER} up."}]
        content = [{"type": "reasoning_text", "text": _THOUGHTS}]
        yield {"type": "reasoning", "id": ITEM_ID, "summary": summary, "content": content}
    for _ in range(count - 2 if calls else count):
        yield _message(_ANSWERS[variant])
    if calls:
        arguments = f'{{"number":"{NUMBER}"}}'
        yield {
            "type": "function_call",
            "id": ITEM_ID,
            "status": "completed",
            "call_id": CALL,
            "name": "look_up",
            "arguments": arguments,
        }


def _message(text: str) -> Json:
    part: Json = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": ITEM_ID, "status": "completed", "role": "assistant", "content": [part]}


def _signs(output: list[Json]) -> str:
    """How the stream was cut: word by word (see `protocol.performer`)."""
    signs = ["^>"]
    for item in output:
        signs.append("+")
        for slot, sign in (("summary", "{"), ("content", "[")):
            signs += [f"{sign}{_deltas(part['text'])}.]" for part in item.get(slot) or ()]
        if item["type"] == "function_call":
            signs.append(f"{_deltas(item['arguments'])}=")
        signs.append(";")
    return "".join(signs)


def _deltas(text: str) -> str:
    return "".join(delta_signs(map(len, _PIECE.findall(text))))


def _text(value: Json) -> str:
    return encode(value).decode()
