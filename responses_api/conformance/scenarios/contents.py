"""What is no plain talk: JSON by a schema, a picture, a long text."""

import secrets
from typing import Any, Final

from responses_api.conformance.asking import ask_stream, completed_text, sound, usage_of
from responses_api.conformance.outcomes import NotApplicable, NotShown, require
from responses_api.conformance.picture import COLOURS, picture_of
from responses_api.conformance.prompts import RECALL
from responses_api.conformance.scenario import scenario
from responses_api.conformance.server import Server, new_word
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode

_COLOURS: Final = ("red", "green", "blue")
_SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": [*_COLOURS]},
        "wheels": {"type": "integer"},
        "is_fast": {"type": "boolean"},
    },
    "required": ["colour", "wheels", "is_fast"],
    "additionalProperties": False,
}
_CAR: Final = "Describe a fast red car with four wheels, as JSON with the fields colour, wheels and is_fast."
_PICTURE: Final = "Which colour fills this picture? Answer with the name of the colour."
_SENTENCE: Final = "The morning was grey, and the boats lay quiet along the harbour wall. "
_LENGTH: Final = 20_000  # characters
_FEWEST_TOKENS: Final = _LENGTH // 12


@scenario("structured-output", "An answer that a JSON Schema is given for is JSON by that schema.")
async def structured_output(server: Server) -> str:
    form = {"type": "json_schema", "name": "car", "schema": _SCHEMA, "strict": True}
    response = await ask_stream(server, input=_CAR, text={"format": form}, optional=("text",))
    said = completed_text(response)
    try:
        found = decode(said)
    except ValueError:
        found = None
    require(isinstance(found, dict), f"the answer is no JSON object: {said[:200]!r}")
    require(_is_car(found), f"the answer is not by the schema: {said[:200]!r}")
    return "The answer is JSON by its schema."


def _is_car(found: Any) -> bool:
    kinds = {name: type(value) for name, value in found.items()}
    return kinds == {"colour": str, "wheels": int, "is_fast": bool} and found["colour"] in _COLOURS


@scenario("image", "A picture reaches the model, or is refused with a clear 400.")
async def image(server: Server) -> str:
    colours = secrets.SystemRandom().sample([*COLOURS], 2)  # one might be guessed
    for colour in colours:
        named = await _named(server, colour)
        if named != {colour}:
            raise NotShown(f"a {colour} picture is called {', '.join(sorted(named)) or 'no colour'}")
    return f"The model names the colours of two pictures, {' and '.join(colours)}."


async def _named(server: Server, colour: str) -> set[str]:
    """The colours that the model names when it is shown this one. Raises `NotApplicable` where pictures are refused."""
    picture = {"type": "input_image", "image_url": picture_of(colour), "detail": "auto"}
    parts = [{"type": "input_text", "text": _PICTURE}, picture]
    answer = await server.ask(input=[{"role": "user", "content": parts}], store=False, max_output_tokens=400)
    told = str(answer.error.get("message"))
    if answer.status == 400 and (answer.error.get("param") or "image" in told.lower()):
        raise NotApplicable(f"refused by name: {told}")
    said = completed_text(sound(answer)).lower()
    return {name for name in COLOURS if name in said}


@scenario("long-input", "A long text is read to its end, or refused as too long.")
async def long_input(server: Server) -> str:
    word, half = new_word(), _SENTENCE * (_LENGTH // len(_SENTENCE) // 2)
    asked = f"{half}The code word is {word}. {half}\n\n{RECALL}"
    answer = await server.ask(input=asked, store=False, max_output_tokens=200)
    if answer.status == 400 and answer.error.get("code") == "context_length_exceeded":
        return f"Refused as too long: {answer.error.get('message')}"
    response = sound(answer)
    usage = usage_of(response)
    if usage is not None:
        told = usage["input_tokens"]
        require(told >= _FEWEST_TOKENS, f"{len(asked)} characters came to the model as {told} tokens")
    if word not in completed_text(response):
        raise NotShown("the model does not find the word that the text tells in its middle")
    return f"The model found a word in the middle of {len(asked)} characters."
