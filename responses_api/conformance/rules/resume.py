"""The event stream of a stored response, told again: whole, or from where a client left."""

from typing import Any

from responses_api.conformance.evidence import all_streams, never_id, stored_response, text_stream
from responses_api.conformance.expect import refused
from responses_api.conformance.outcomes import Broken, NotApplicable, NotShown, require, require_unbroken
from responses_api.conformance.prompts import HELLO, SLOW_COUNT
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, answered, offered
from responses_api.conformance.told import Told, read_told
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import SseDecoder, decode


async def _again(server: Server, response_id: object, query: str = "") -> Told:
    """The stream of a response, told again. Raises `NotApplicable` where the server does not."""
    await stored_response(server)
    answer = offered(
        await server.get(f"/responses/{response_id}?stream=true{query}"), "the replay of streams"
    )
    if answer.status == 400 and answer.error.get("param") == "stream":
        raise NotApplicable("the server does not replay streams")
    return read_told(answer)


def _require_same(told: list[Json], expected: list[Json], what: str) -> None:
    if told == expected:
        return
    for one, other in zip(told, expected, strict=False):
        if one != other:
            names = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
            raise Broken(f"{what}: {other.get('type')} differs in {', '.join(names)}")
    raise Broken(f"{what}: there are {len(told)} events, not {len(expected)}")


@rule(
    "resume.replay",
    "A stream that is told again has exactly its events.",
    section="Streaming",
    demand="extension",
)
async def replay(server: Server) -> None:
    for told in await all_streams(server):
        again = await _again(server, told.final.get("id"))
        _require_same(again.events, told.events, "the stream was told otherwise the second time")


@rule(
    "resume.starting-after",
    "starting_after tells exactly the events after that number.",
    section="Streaming",
    demand="extension",
)
async def starting_after(server: Server) -> None:
    told = await text_stream(server)
    last = len(told.events) - 1
    for place in (0, last // 2, last - 1, last):
        number = told.events[place]["sequence_number"]
        again = await _again(server, told.final.get("id"), f"&starting_after={number}")
        _require_same(again.events, told.events[place + 1 :], f"after event {number}")


@rule(
    "resume.background",
    "A stream that its client left is taken up where it was, to the end, without a gap or a repetition.",
    section="Streaming",
    demand="extension",
)
async def background(server: Server) -> None:
    await stored_response(server)
    before: list[Json] = []

    async def some(received: bytes) -> bool:
        before[:] = [decode(frame.data) for frame in SseDecoder().feed(received) if frame.data != "[DONE]"]
        return len(before) < 8

    fields: dict[str, Any] = {"input": SLOW_COUNT, "background": True, "stream": True}
    answer = await server.send("POST", "/responses", server.body(fields), on_write=some)
    if answer.status == 400 and answer.error.get("param") in ("background", "stream"):
        raise NotApplicable("the server does not offer background responses")
    if answer.status != 200:
        answered(answer)
    response_id, number = before[0]["response"]["id"], before[-1]["sequence_number"]
    rest = await _again(server, response_id, f"&starting_after={number}")
    whole = await _again(server, response_id)
    _require_same([*before, *rest.events], whole.events, "the two parts are not the stream")
    require_unbroken(whole.stream.violations)
    if len(before) == len(whole.events):
        raise NotShown("the answer had ended before the client left")


@rule(
    "resume.unknown",
    "The stream of a response that never was is 404.",
    section="Error Types",
    demand="extension",
)
async def unknown(server: Server) -> None:
    told = await text_stream(server)
    await _again(server, told.final.get("id"))
    refused(await server.get(f"/responses/{await never_id(server)}?stream=true"), 404)


@rule(
    "resume.wrong-place",
    "A starting_after that is no number is refused with 400 that names it.",
    section="Errors",
    demand="extension",
)
async def wrong_place(server: Server) -> None:
    told = await text_stream(server)
    await _again(server, told.final.get("id"))
    for value in ("x", "-2", "1.5"):
        answer = await server.get(f"/responses/{told.final['id']}?stream=true&starting_after={value}")
        refused(answer, param="starting_after")


@rule(
    "resume.no-stream",
    "stream=false is a plain GET.",
    section="ResponseResource",
    demand="extension",
)
async def no_stream(server: Server) -> None:
    response = await stored_response(server)
    got = answered(await server.get(f"/responses/{response['id']}?stream=false"))
    require(got.get("id") == response["id"], f"GET answers {got.get('id')!r}")


@rule(
    "resume.foreign",
    "A stranger does not get the stream.",
    section="Error Types",
    demand="extension",
)
async def foreign(server: Server) -> None:
    stranger = server.other()
    told = await text_stream(server)
    await _again(server, told.final.get("id"))
    refused(await stranger.get(f"/responses/{told.final['id']}?stream=true"), 404)


@rule(
    "resume.after-delete",
    "The stream of a deleted response is gone.",
    section="ResponseResource",
    demand="extension",
)
async def after_delete(server: Server) -> None:
    told = await server.stream(input=HELLO)
    await _again(server, told.final.get("id"))
    offered(await server.send("DELETE", f"/responses/{told.final['id']}"), "deletion")
    refused(await server.get(f"/responses/{told.final['id']}?stream=true"), 404)
