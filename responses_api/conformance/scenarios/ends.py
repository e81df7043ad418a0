"""Ends that are not the usual one: refused, cut short, left, cancelled."""

from typing import Any, Final

from responses_api.conformance.asking import ask, ask_stream, completed_text, sound
from responses_api.conformance.expect import refused
from responses_api.conformance.outcomes import Broken, NotApplicable, NotShown, require
from responses_api.conformance.prompts import COUNT, HELLO, SLOW_COUNT, WEATHER
from responses_api.conformance.scenario import scenario
from responses_api.conformance.server import Server
from responses_api.conformance.shapes.resource import error_faults
from responses_api.conformance.wire import Answer
from responses_api.protocol import event_types as t
from responses_api.protocol.sse import SseDecoder, decode

_DELTA: Final = f"event: {t.OUTPUT_TEXT_DELTA}".encode()
_NO_TOOL: Final = {"type": "function", "name": "no_such_tool"}


@scenario("errors", "What cannot be served is refused with a 400 that names the field, or else is served.")
async def errors(server: Server) -> str:
    impossible: tuple[tuple[str, Any], ...] = (("temperature", 5), ("tool_choice", _NO_TOOL))
    for field, value in impossible:
        answer = await server.ask(input=HELLO, tools=[WEATHER], store=False, **{field: value})
        refused(answer, 400, param=field)
        for fault in error_faults(answer.json()):
            raise Broken(f"the error has another shape: {fault}")
    answer = await server.ask(input=HELLO, top_logprobs=3, store=False, max_output_tokens=64)
    if answer.status == 400:
        named = f"{answer.error.get('param')} {answer.error.get('message')}"  # the backend's own words may name it
        require(
            "logprobs" in named, f"top_logprobs is refused without its name: {answer.error.get('message')}"
        )
        return "Two impossible settings are refused by name; top_logprobs, too."
    sound(answer)
    return "Two impossible settings are refused by name; top_logprobs is served."


@scenario("cut-short", "An answer that meets its limit of tokens is incomplete, and says why.")
async def cut_short(server: Server) -> str:
    response = await ask_stream(server, input=COUNT, max_output_tokens=16)
    if response["status"] == "completed":
        raise NotShown("the model ended before its limit")
    why = response["incomplete_details"].get("reason")
    require(why == "max_output_tokens", f"the answer is incomplete by '{why}', not by max_output_tokens")
    last = response["output"][-1] if response["output"] else {}
    states = [item.get("status", "completed") for item in response["output"]]
    require(last.get("status", "incomplete") == "incomplete", f"the items of a cut answer are {states}")
    return "The answer ended as incomplete, by max_output_tokens."


@scenario("leave", "A client that leaves in the middle of a stream harms nothing.")
async def leave(server: Server) -> str:
    answer = await _left_at_first_delta(server, input=SLOW_COUNT, store=False)
    completed_text(await ask(server, input=HELLO))
    require(answer.status == 200, f"the stream was refused with {answer.status}")
    return "A stream was left at its first words, and the next question is answered."


@scenario("cancel", "A background response that is cancelled ends at once, as cancelled.")
async def cancel(server: Server) -> str:
    answer = await _left_at_first_delta(server, input=SLOW_COUNT, store=True, background=True)
    if answer.status == 400 and str(answer.error.get("param")) in ("background", "store"):
        raise NotApplicable(f"refused by name: {answer.error.get('message')}")
    if answer.status != 200:
        sound(answer)
    place = f"/responses/{_id_in(answer)}"
    try:
        ended = await server.send("POST", f"{place}/cancel")
        status = ended.json().get("status")
        if status == "completed":
            raise NotShown("the answer was complete before it could be cancelled")
        require(status == "cancelled", f"{ended.request} answers a response that is {status}")
        kept = (await server.get(place)).json()
        require(
            kept.get("status") == "cancelled", f"the cancelled response is {kept.get('status')} afterwards"
        )
    finally:
        await server.send("DELETE", place)
    completed_text(await ask(server, input=HELLO))
    return "The response was cancelled in the middle of its answer, and the next question is answered."


async def _left_at_first_delta(server: Server, **fields: Any) -> Answer:
    """What came of a stream up to its first words. Raises `NotShown` where it came to its end."""

    async def goes_on(received: bytes) -> bool:
        return _DELTA not in received

    body = server.body({**fields, "stream": True})
    answer = await server.send("POST", "/responses", body, on_write=goes_on)
    if answer.status == 200 and b"[DONE]" in answer.body:
        raise NotShown("the answer was whole before it could be left")
    return answer


def _id_in(answer: Answer) -> str:
    """The response's id in the first event. Raises `Broken`."""
    frames = SseDecoder().feed(answer.body)
    try:
        found = decode(frames[0].data)["response"]["id"] if frames else None
    except (ValueError, KeyError, TypeError):
        found = None
    if not isinstance(found, str):
        raise Broken("the first event of the stream tells no id")
    return found
