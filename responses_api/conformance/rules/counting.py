"""Tokens of the input, counted and cut to what a model takes."""

from responses_api.conformance.expect import found, refused
from responses_api.conformance.outcomes import NotApplicable, require
from responses_api.conformance.prompts import HELLO, message
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, offered
from responses_api.protocol.plain import Json


async def _counted(server: Server, **fields: object) -> Json:
    answer = await server.send("POST", "/responses/input_tokens", server.body(dict(fields)))
    return found(offered(answer, "the counting of tokens"))


@rule(
    "counting.tokens",
    "input_tokens tells how many tokens an input has, more of them for more input, and makes no response.",
    section="CreateResponseBody",
    demand="extension",
)
async def tokens(server: Server) -> None:
    short = await _counted(server, input=HELLO)
    long = await _counted(server, input=[message(HELLO), message(HELLO * 20)])
    require(short.get("object") == "response.input_tokens", f"the object is {short.get('object')!r}")
    require(0 < short["input_tokens"] < long["input_tokens"], f"the counts are {short} and {long}")
    require("id" not in short, "counting has made a response")


@rule(
    "counting.refused",
    "input_tokens refuses what a create call refuses.",
    section="CreateResponseBody",
    demand="extension",
)
async def refuses(server: Server) -> None:
    await _counted(server, input=HELLO)
    body = server.body({"input": [{"role": "narrator", "content": HELLO}]})
    refused(await server.send("POST", "/responses/input_tokens", body), param="input")


def _too_long(server: Server) -> list[Json]:
    """Turns that no window of `--context-window` tokens holds, though the last one does."""
    window = server.target.context_window
    if window is None:
        raise NotApplicable("needs --context-window, the tokens that the model takes")
    turn = "one two three four five six seven eight nine ten " * max(1, window // 20)
    said = [message(turn, role) for _ in range(3) for role in ("user", "assistant")]
    return [*said, message(HELLO)]


@rule(
    "truncation.disabled",
    "An input beyond the context window is refused with 400 context_length_exceeded.",
    section="truncation",
)
async def disabled(server: Server) -> None:
    refused(await server.ask(input=_too_long(server)), code="context_length_exceeded")


@rule(
    "truncation.auto",
    "With truncation auto, an input beyond the context window is cut until it fits.",
    section="truncation",
    demand="should",
)
async def auto(server: Server) -> None:
    response = await server.create(input=_too_long(server), truncation="auto")
    require(response.get("truncation") == "auto", f"'truncation' is {response.get('truncation')!r}")
