"""Background responses: accepted at once, worked on without their client, cancelled when asked."""

import asyncio
from typing import Any, Final

from responses_api.conformance.evidence import plain_response, stored_response
from responses_api.conformance.expect import found, refused
from responses_api.conformance.outcomes import Broken, NotApplicable, NotShown, require
from responses_api.conformance.prompts import HELLO, SLOW_COUNT
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, answered, offered
from responses_api.conformance.shapes.resource import response_faults
from responses_api.protocol.plain import Json

_POLL_SECONDS: Final = 0.1
_UNFINISHED: Final = ("queued", "in_progress")


async def _begun(server: Server, **fields: Any) -> Json:
    """A background response as it was accepted. Raises `NotApplicable` where the server has none."""
    answer = await server.ask(**fields, background=True)
    if answer.status == 400 and answer.error.get("param") == "background":
        raise NotApplicable("the server does not offer background responses")
    return answered(answer)


async def _ended(server: Server, response_id: str) -> Json:
    """The response when it has ended. Raises `Broken` where it does not in time."""
    clock = asyncio.get_running_loop().time
    end = clock() + server.target.timeout
    while clock() < end:
        response = found(await server.get(f"/responses/{response_id}"))
        if response.get("status") not in _UNFINISHED:
            return response
        await asyncio.sleep(_POLL_SECONDS)
    raise Broken(f"the background response has not ended within {server.target.timeout:g} seconds")


async def _cancel(server: Server, response_id: str) -> Json:
    return found(offered(await server.send("POST", f"/responses/{response_id}/cancel"), "cancelling"))


@rule(
    "background.accepted",
    "A background response is answered before it has ended.",
    section="CreateResponseBody",
)
async def accepted(server: Server) -> None:
    response = await _begun(server, input=SLOW_COUNT)
    require(response.get("background") is True, f"'background' is {response.get('background')!r}")
    await server.send("POST", f"/responses/{response['id']}/cancel")
    if response.get("status") not in (*_UNFINISHED, "completed"):
        raise NotShown(f"the response is {response.get('status')}")
    require(response.get("status") in _UNFINISHED, "the answer waited for the response's end")
    for fault in response_faults(response):
        raise Broken(fault)


@rule(
    "background.ends",
    "GET finds a background response at once, and tells its end.",
    section="CreateResponseBody",
    demand="extension",
)
async def ends(server: Server) -> None:
    response = await _begun(server, input=HELLO)
    got = found(await server.get(f"/responses/{response['id']}"))
    require(got.get("id") == response["id"], f"GET answers {got.get('id')!r}")
    ended = await _ended(server, response["id"])
    if ended.get("status") == "failed":
        raise NotShown(f"the model failed: {ended.get('error')}")
    require(bool(ended.get("output")), "the response has ended without output")
    for fault in response_faults(ended):
        raise Broken(fault)


@rule(
    "background.stored",
    "A background response has to be stored: with store false it is refused.",
    section="CreateResponseBody",
    demand="extension",
)
async def stored(server: Server) -> None:
    await _begun(server, input=HELLO)
    refused(await server.ask(input=HELLO, background=True, store=False))


@rule(
    "background.cancel",
    "A cancelled response ends as cancelled, at once and for good.",
    section="ResponseResource",
    demand="extension",
)
async def cancel(server: Server) -> None:
    response = await _begun(server, input=SLOW_COUNT)
    told = await _cancel(server, response["id"])
    if told.get("status") == "completed":
        raise NotShown("the response had ended before it was cancelled")
    require(told.get("status") == "cancelled", f"the cancelled response is {told.get('status')}")
    got = found(await server.get(f"/responses/{response['id']}"))
    require(got.get("status") == "cancelled", f"GET tells a cancelled response as {got.get('status')}")
    again = await _cancel(server, response["id"])
    require(again.get("status") == "cancelled", f"cancelled again, the response is {again.get('status')}")


@rule(
    "background.cancel-others",
    "A response that is not in the background, and one that never was, are not cancelled.",
    section="ResponseResource",
    demand="extension",
)
async def cancel_others(server: Server) -> None:
    await _begun(server, input=HELLO)
    response = await stored_response(server)
    refused(await server.send("POST", f"/responses/{response['id']}/cancel"), 400, 409)
    refused(await server.send("POST", f"/responses/resp_{'0' * 44}/cancel"), 404)


@rule(
    "background.cancelled-chain",
    "A cancelled response is not continued.",
    section="previous_response_id",
    demand="extension",
)
async def cancelled_chain(server: Server) -> None:
    response = await _begun(server, input=SLOW_COUNT)
    if (await _cancel(server, response["id"])).get("status") != "cancelled":
        raise NotShown("the response had ended before it was cancelled")
    answer = await server.ask(input=HELLO, previous_response_id=response["id"])
    refused(answer, code="previous_response_not_found")


@rule(
    "background.running-chain",
    "A response that is still in progress is not continued: 409, or 400.",
    section="previous_response_id",
    demand="extension",
)
async def running_chain(server: Server) -> None:
    response = await _begun(server, input=SLOW_COUNT)
    answer = await server.ask(input=HELLO, previous_response_id=response["id"])
    await server.send("POST", f"/responses/{response['id']}/cancel")
    if answer.status == 200:
        raise NotShown("the response had ended before it was continued")
    refused(answer, 409, 400)


@rule(
    "background.delete",
    "A response in progress is deleted and gone, or its deletion is refused with 409 until it has ended.",
    section="ResponseResource",
    demand="extension",
)
async def delete(server: Server) -> None:
    path = f"/responses/{(await _begun(server, input=SLOW_COUNT))['id']}"
    told = offered(await server.send("DELETE", path), "deletion")
    if told.status != 200:
        refused(told, 409)
        found(await server.get(path))
        await server.send("POST", f"{path}/cancel")
        found(await server.send("DELETE", path))
    refused(await server.get(path), 404)


@rule(
    "background.foreign",
    "A stranger neither sees nor cancels a background response.",
    section="Error Types",
    demand="extension",
)
async def foreign(server: Server) -> None:
    stranger = server.other()
    await plain_response(server)
    response = await _begun(server, input=SLOW_COUNT)
    refused(await stranger.get(f"/responses/{response['id']}"), 404)
    refused(await stranger.send("POST", f"/responses/{response['id']}/cancel"), 404)
    got = found(await server.get(f"/responses/{response['id']}"))
    require(got.get("status") != "cancelled", "a stranger has cancelled the response")
    await server.send("POST", f"/responses/{response['id']}/cancel")
