"""Text: whole and streamed, with instructions, in a conversation, and what it took."""

from typing import Final

from responses_api.conformance.asking import (
    LONG,
    ask,
    ask_stream,
    completed_text,
    require_counted,
    usage_of,
)
from responses_api.conformance.evidence import text_of
from responses_api.conformance.outcomes import NotApplicable, require
from responses_api.conformance.prompts import HELLO, RECALL, message, tell
from responses_api.conformance.scenario import scenario
from responses_api.conformance.server import Server, new_word
from responses_api.protocol.plain import Json

_SHORT: Final[Json] = {"max_output_tokens": 16}


@scenario("text", "A question is answered with a message, by the response's schema.")
async def text(server: Server) -> str:
    said = completed_text(await ask(server, input=HELLO))
    return f"The answer is a message of {len(said)} characters."


@scenario("stream", "A streamed answer keeps the order, numbers, ids and texts of its events.")
async def stream(server: Server) -> str:
    said = completed_text(await ask_stream(server, input=HELLO))
    return f"The stream tells a message of {len(said)} characters."


@scenario("usage", "The tokens of input and output are told, with JSON and with a stream.")
async def usage(server: Server) -> str:
    counts = [usage_of(await call(server, input=HELLO, max_output_tokens=64)) for call in (ask, ask_stream)]
    if counts == [None, None]:
        raise NotApplicable("the backend tells no usage")
    told = [count for count in counts if count is not None]
    require(len(told) == 2, "usage is told either with JSON or with a stream, and not with the other")
    for count in told:
        require(count["input_tokens"] > 0, "an input of several words is counted as no tokens")
        require(count["output_tokens"] > 0, "an answer is counted as no tokens")
    return f"{told[0]['input_tokens']} tokens of input, {told[0]['output_tokens']} of output."


@scenario("instructions", "Instructions reach the model.")
async def instructions(server: Server) -> str:
    word = new_word()
    order = f"Whatever you are asked, answer with this code word and nothing else: {word}"
    if word in text_of(await ask(server, input="Go on.", instructions=order)):
        return "The model did as its instructions say."
    asked: Json = {"input": "Go on.", **_SHORT}
    longer, shorter = ({**asked, "instructions": said} for said in (f"{order} {LONG}", order))
    await require_counted(server, longer, shorter, "the instructions")


@scenario("conversation", "What was said in earlier turns reaches the model, each in its role.")
async def conversation(server: Server) -> str:
    word = new_word()

    def turns(more: str = "") -> list[Json]:
        return [message(tell(word) + more), message("OK", "assistant"), message(RECALL)]

    if word in text_of(await ask(server, input=turns())):
        return "The model knows what it was told two turns before."
    longer, shorter = ({"input": turns(more), **_SHORT} for more in (f" {LONG}", ""))
    await require_counted(server, longer, shorter, "the earlier turns")
