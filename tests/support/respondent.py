"""A server of the Open Responses API whose answers a test decides: what the conformance suite is tried on.

`mind` says what the model answers to a request, as output items; the server tells them as JSON or as a stream. What the
mind raises as a `ProtocolError` is the error that is answered. `bend` changes what goes out.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from responses_api.protocol import event_types, events
from responses_api.protocol.errors import ProtocolError, invalid_request, not_found
from responses_api.protocol.plain import Json
from responses_api.protocol.request import parse_create
from responses_api.protocol.response import snapshot, usage
from responses_api.protocol.sse import DONE, decode, encode, frame


@dataclass(frozen=True, slots=True)
class Said:
    """What the model answers. `counts` are the tokens of input and output; None: no usage is told.

    With `hangs` a stream stays open after its first delta until its client leaves.
    """

    items: list[Json] = field(default_factory=list)
    counts: tuple[int, int] | None = (10, 5)
    status: str = "completed"
    reason: str | None = None
    error: Json | None = None
    hangs: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """What goes out: an object or the events of a stream."""

    status: int
    body: Json = field(default_factory=dict)
    events: list[Json] | None = None


Mind = Callable[[Json], Said]
Bend = Callable[[Json, Sent], Sent]


class Respondent:
    """The server, on loopback, in a thread of its own."""

    def __init__(self, mind: Mind, bend: Bend | None = None) -> None:
        self.requests: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self._mind, self._bend = mind, bend or (lambda body, sent: sent)
        self._kept: dict[str, Json] = {}
        self._number = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def base_url(self) -> str:
        """What clients are told."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        application = web.Application()
        application.router.add_post("/v1/responses", self._create)
        application.router.add_get("/v1/responses", self._list)
        application.router.add_post("/v1/responses/{id}/cancel", self._cancel)
        application.router.add_get("/v1/responses/{id}", self._get)
        application.router.add_delete("/v1/responses/{id}", self._delete)
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._stopped.wait()
        await runner.cleanup()

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = decode(await request.read())
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self._number += 1
        response_id = f"resp_{self._number}"
        try:
            parse_create(body)
            said = self._mind(body)
            final = _final(response_id, body, said)
        except ProtocolError as error:
            return _json(self._bend(body, Sent(error.status, error.body())))
        self._kept[response_id] = final
        if not body.get("stream"):
            return _json(self._bend(body, Sent(200, final)))
        told = [{**event, "sequence_number": at} for at, event in enumerate(_events(body, final))]
        sent = self._bend(body, Sent(200, events=told))
        return await _stream(request, sent, hangs=said.hangs) if sent.events is not None else _json(sent)

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        kept = self._kept[request.match_info["id"]]
        if kept["status"] == "in_progress":
            kept["status"] = "cancelled"
        return _json(self._bend({"call": "cancel"}, Sent(200, kept)))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        return _json(Sent(200, {"object": "list", "data": []}))

    async def _get(self, request: web.Request) -> web.StreamResponse:
        kept = self._kept.get(request.match_info["id"])
        return _json(Sent(200, kept)) if kept else _json(Sent(404, not_found("Not found.").body()))

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        self._kept.pop(request.match_info["id"])
        return _json(Sent(200, {"deleted": True}))

    @property
    def kept(self) -> int:
        """How many responses that ask to be stored are still there."""
        return sum(response["store"] for response in self._kept.values())


def message(text: str, number: int = 1, status: str = "completed") -> Json:
    """A message of the model."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": f"msg_{number}",
        "status": status,
        "role": "assistant",
        "content": [part],
    }


def call(name: str, number: int = 1, arguments: str = '{"location":"San Francisco"}') -> Json:
    """A function call."""
    head = {"type": "function_call", "id": f"fc_{number}", "status": "completed", "call_id": f"call_{number}"}
    return {**head, "name": name, "arguments": arguments}


def reasoning(text: str, sealed: str | None = None) -> Json:
    """A reasoning item."""
    item = {"type": "reasoning", "id": "rs_1", "status": "completed", "summary": []}
    content = [{"type": "reasoning_text", "text": text}]
    return {**item, "content": content, **({"encrypted_content": sealed} if sealed else {})}


def _json(sent: Sent) -> web.Response:
    return web.Response(status=sent.status, body=encode(sent.body), content_type="application/json")


async def _stream(request: web.Request, sent: Sent, *, hangs: bool) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for event in sent.events or ():
        await response.write(frame(event["type"], encode(event)))
        if hangs and event["type"] == event_types.OUTPUT_TEXT_DELTA:
            await asyncio.Event().wait()
    await response.write(DONE)
    return response


def _final(response_id: str, body: Json, said: Said) -> Json:
    request = parse_create(body)
    final = snapshot(
        response_id=response_id,
        created_at=100,
        request=request,
        status="in_progress" if said.hangs and request.background else said.status,
        output=said.items,
        completed_at=101 if said.status == "completed" else None,
        usage=usage(*said.counts) if said.counts else None,
        error=said.error,
        incomplete_details={"reason": said.reason} if said.reason else None,
    )
    return final


def _events(body: Json, final: Json) -> Iterator[Json]:
    begun = replace_fields(final, status="in_progress", output=[], completed_at=None, usage=None, error=None)
    begun["incomplete_details"] = None
    yield events.created(begun)
    yield events.in_progress(begun)
    for index, item in enumerate(final["output"]):
        yield from _told(index, item)
    if final["error"]:
        yield events.error({"type": "model_error", "param": None, **final["error"]})
    yield events.terminal(final if final["status"] != "in_progress" else {**final, "status": "completed"})


def replace_fields(response: Json, **fields: Any) -> Json:
    """A copy of a response with other fields."""
    return {**response, **fields}


def _told(index: int, item: Json) -> Iterator[Json]:
    kind, item_id = item["type"], item["id"]
    if kind == "function_call":
        yield events.output_item_added(index, {**item, "status": "in_progress", "arguments": ""})
        yield events.function_call_arguments_delta(item_id, index, item["arguments"])
        yield events.function_call_arguments_done(item_id, index, item["arguments"])
    else:
        part, text = item["content"][0], item["content"][0]["text"]
        yield events.output_item_added(index, {**item, "status": "in_progress", "content": []})
        yield events.content_part_added(item_id, index, 0, {**part, "text": ""})
        if kind == "message":
            yield events.output_text_delta(item_id, index, 0, text)
            yield events.output_text_done(item_id, index, 0, text)
        else:
            yield events.reasoning_delta(item_id, index, 0, text, "open")
            yield events.reasoning_done(item_id, index, 0, text, "open")
        yield events.content_part_done(item_id, index, 0, part)
    yield events.output_item_done(index, item)


def refuse(sentence: str, param: str | None = None, code: str | None = "unsupported_value") -> ProtocolError:
    """A 400."""
    return invalid_request(sentence, param=param, code=code)


__all__ = [
    "Bend",
    "Mind",
    "Respondent",
    "Said",
    "Sent",
    "call",
    "message",
    "reasoning",
    "refuse",
    "replace",
    "replace_fields",
]
