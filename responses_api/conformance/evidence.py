"""What several rules look at, fetched once in a run."""

from dataclasses import dataclass
from typing import Final

from responses_api.conformance.outcomes import NotApplicable, NotShown
from responses_api.conformance.prompts import HELLO, WEATHER, WEATHER_QUESTION, message
from responses_api.conformance.server import Server, answered
from responses_api.conformance.told import Told, read_told
from responses_api.conformance.wire import Answer
from responses_api.protocol.plain import Json

SETTINGS: Final[Json] = {
    "instructions": "Answer in English.",
    "metadata": {"suite": "conformance"},
    "max_output_tokens": 4000,
    "truncation": "auto",
    "parallel_tool_calls": False,
    "tools": [WEATHER],
    "tool_choice": "none",
    "safety_identifier": "conformance-user",
    "prompt_cache_key": "conformance-key",
    "text": {"format": {"type": "text"}},
}
"""Settings that any model takes and any server echoes."""


async def text_stream(server: Server) -> Told:
    """A streamed text answer."""
    told = await server.once("text stream", lambda own: own.stream(input=HELLO))
    server.see(told.answer)
    return told


async def call_stream(server: Server) -> Told:
    """A streamed function call. Raises `NotShown` where the model makes none."""

    async def fetch(own: Server) -> Told:
        told = await own.stream(input=[message(WEATHER_QUESTION)], tools=[WEATHER], tool_choice="required")
        if not any(
            item.get("type") == "function_call" for item in (told.stream.final or {}).get("output", ())
        ):
            raise NotShown("the model did not call the tool it was told to call")
        return told

    told = await server.once("call stream", fetch)
    server.see(told.answer)
    return told


async def thought_stream(server: Server) -> Told:
    """A streamed answer with reasoning. Raises `NotShown` where the model does not reason, or not openly."""

    async def fetch(own: Server) -> Told:
        answer = await own.ask(input=HELLO, reasoning={"effort": "low"}, stream=True)
        if answer.status == 400:
            raise NotShown("the model takes no reasoning settings")
        told = read_told(answer)
        if not any(item.get("type") == "reasoning" for item in (told.stream.final or {}).get("output", ())):
            raise NotShown("the model did not reason")
        return told

    told = await server.once("thought stream", fetch)
    server.see(told.answer)
    return told


async def all_streams(server: Server) -> list[Told]:
    """Streams of each kind that the model shows: reasoning, a call, and text, which is the latest answer."""
    found: list[Told] = []
    for kind in (thought_stream, call_stream, text_stream):
        try:
            found.append(await kind(server))
        except NotShown:
            if kind is text_stream:
                raise
    return found


async def json_answer(server: Server) -> Answer:
    """The JSON answer to a request that has nothing but an input."""
    return server.see(await server.once("json answer", lambda own: own.ask(input=HELLO)))


async def plain_response(server: Server) -> Json:
    """The response to a request that has nothing but an input."""
    return answered(await json_answer(server))


async def set_response(server: Server) -> Json:
    """The response to a request with many settings."""
    answer = await server.once("set response", lambda own: own.ask(input=HELLO, **SETTINGS))
    return answered(server.see(answer))


async def call_response(server: Server) -> Json:
    """A stored response with a function call. Raises `NotShown` where the model makes none."""
    fields: Json = {"input": WEATHER_QUESTION, "tools": [WEATHER], "tool_choice": "required"}
    response = answered(server.see(await server.once("call response", lambda own: own.ask(**fields))))
    if response.get("status") == "failed" or not calls_of(response):
        raise NotShown("the model did not call the tool it was told to call")
    return response


async def stored_response(server: Server) -> Json:
    """A response that GET finds. Raises `NotApplicable` where the server has no such call."""
    response = await plain_response(server)
    answer = await server.once("stored", lambda own: own.get(f"/responses/{response['id']}"))
    if server.see(answer).status in (404, 405, 501):
        raise NotApplicable("the server does not let stored responses be retrieved")
    return response


async def never_id(server: Server) -> str:
    """An id that looks like the server's own and never was one."""
    own = str((await plain_response(server)).get("id"))
    head, _, rest = own.rpartition("_")
    return f"{head}_{'0' * len(rest)}" if head else "resp_" + "0" * 40


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that no server may serve, and the statuses that its error may have."""

    answer: Answer
    statuses: tuple[int, ...]


async def refusals(server: Server) -> dict[str, Refusal]:
    """One refusal of each kind that every server must know."""

    async def fetch(own: Server) -> dict[str, Refusal]:
        body = own.body({"input": HELLO})
        post = "POST", "/responses"
        nobody, wrong = {"Authorization": ""}, {"Authorization": "Bearer sk-not-a-key"}
        return {
            "malformed": Refusal(await own.send(*post, b'{"model": '), (400,)),
            "no-object": Refusal(await own.send(*post, b"[]"), (400,)),
            "wrong-value": Refusal(await own.ask(input=HELLO, max_output_tokens=1), (400,)),
            "no-key": Refusal(await own.send(*post, body, headers=nobody), (401,)),
            "wrong-key": Refusal(await own.send(*post, body, headers=wrong), (401,)),
            "unknown-model": Refusal(
                await own.ask(input=HELLO, model="conformance-no-such-model"), (400, 404)
            ),
            "unknown-previous": Refusal(
                await own.ask(input=HELLO, previous_response_id="resp_" + "f" * 44), (400, 404)
            ),
        }

    return await server.once("refusals", fetch)


def calls_of(response: Json) -> list[Json]:
    """The function calls of a response."""
    return [item for item in response.get("output") or () if item.get("type") == "function_call"]


def text_of(response: Json) -> str:
    """The text of all messages of a response."""
    messages = [item for item in response.get("output") or () if item.get("type") == "message"]
    parts = [part for item in messages for part in item.get("content") or ()]
    return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "output_text")


def completed(response: Json) -> Json:
    """The response, if it was completed. Raises `NotShown` otherwise."""
    if response.get("status") != "completed":
        reason = response.get("error") or response.get("incomplete_details")
        raise NotShown(f"the model's answer is {response.get('status')}: {reason}")
    return response
