"""The proxy before the service: it hands everything on as it is, except where a fault is planted."""

import asyncio
import json
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp import web

from responses_api.protocol.plain import Json
from responses_api.protocol.sse import SseDecoder, frame
from tests.support.faults.fault import Call, Fault, Reply

BINARY: Final = "a binary frame"
"""What a fault is told of a frame that is not text."""
NO_FAULT: Final = Fault("none", ())
_DONE: Final = b"data: [DONE]\n\n"
_PASSED: Final = (
    "authorization",
    "content-type",
    "content-encoding",
    "accept",
    "idempotency-key",
    "antiphon-backend",
)
_RETURNED: Final = ("content-type", "retry-after", "www-authenticate", "allow")
_LARGEST: Final = 1 << 26
_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")


class FaultyProxy:
    """A server on loopback, in a thread of its own. `faults` may be set between runs; a call meets one at most."""

    def __init__(self, upstream: str) -> None:
        self.faults: list[Fault] = []
        self._upstream = upstream
        self._ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve()), name="faulty-proxy", daemon=True
        )
        self._port = 0

    @property
    def base_url(self) -> str:
        """What clients are told."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10), "the proxy did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), auto_decompress=False
        ) as session:
            self._session = session
            runner = web.ServerRunner(
                web.Server(self._answer, auto_decompress=False, access_log=None), shutdown_timeout=1
            )
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self._port = runner.addresses[0][1]
            self._ready.set()
            await self._stopped.wait()
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("upgrade", "").lower() == "websocket":
            return await self._relay_socket(request, _of_socket(self.faults))
        headers = {name: request.headers[name] for name in _PASSED if name in request.headers}
        raw = await _read(request)
        asked = Call(request.method, request.path_qs.removeprefix("/v1"), headers, raw)
        fault = next(
            (one for one in self.faults if one.concerns(asked) or _named(asked.path) in one.ids), NO_FAULT
        )
        call = fault.call(asked) if fault.call else asked
        path = call.path.partition("&starting_after")[0] if fault.events else call.path
        async with self._session.request(
            call.method, f"{self._upstream}{path}", data=call.raw or None, headers=call.headers
        ) as answer:
            if answer.content_type == "text/event-stream":
                changes = bool(fault.events or fault.frames or fault.stream_type)
                is_changed = changes and not call.body.get("background")
                return await (
                    self._change_stream(request, answer, asked, fault)
                    if is_changed
                    else _pass_stream(request, answer)
                )
            told = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
            reply = Reply(answer.status, told, await answer.read())
        reply = _changed(reply, asked, fault)
        return web.Response(status=reply.status, headers=reply.headers, body=reply.raw)

    async def _change_stream(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, call: Call, fault: Fault
    ) -> web.StreamResponse:
        events = [
            json.loads(one.data) for one in SseDecoder().feed(await answer.read()) if one.data != "[DONE]"
        ]
        if call.is_create:
            fault.ids.add(events[0]["response"]["id"])
        if fault.events:
            events = fault.events(events)
        if fault.events and fault.is_renumbered:
            for number, event in enumerate(events):
                event["sequence_number"] = number
        after = call.path.partition("starting_after=")[2]
        events = [event for event in events if not after or event["sequence_number"] > int(after)]
        writes = [frame(event["type"], json.dumps(event).encode()) for event in events] + [_DONE]
        if fault.frames and call.is_create:
            writes = fault.frames(writes)
        return await _write_stream(request, fault.stream_type or answer.headers["content-type"], writes)

    async def _relay_socket(self, request: web.BaseRequest, fault: Fault) -> web.StreamResponse:
        url = f"{self._upstream}{request.path_qs.removeprefix('/v1')}"
        headers = {name: request.headers[name] for name in _PASSED if name in request.headers}
        if fault.call:
            headers = dict(fault.call(Call("GET", "/responses", headers, b"")).headers)
        try:
            upstream = await self._session.ws_connect(url, headers=headers, max_msg_size=0)
        except aiohttp.WSServerHandshakeError as error:
            return web.Response(status=error.status)
        client = web.WebSocketResponse(max_msg_size=0)
        await client.prepare(request)
        back = asyncio.ensure_future(_tell_turns(upstream, client, fault))
        async for message in client:
            if message.type is aiohttp.WSMsgType.TEXT:
                await upstream.send_str(fault.message(message.data) if fault.message else message.data)
            elif message.type is aiohttp.WSMsgType.BINARY:
                text = fault.message(BINARY) if fault.message else BINARY
                await (upstream.send_bytes(message.data) if text == BINARY else upstream.send_str(text))
        await upstream.close()
        await back
        return client


async def _tell_turns(
    upstream: aiohttp.ClientWebSocketResponse, client: web.WebSocketResponse, fault: Fault
) -> None:
    held: list[str] = []
    async for message in upstream:
        held.append(message.data)
        if fault.turn is None or _ends_turn(message.data):
            turn = fault.turn(held) if fault.turn else held
            held = []
            for text in turn:
                await (
                    client.send_bytes(text.encode()[1:]) if text.startswith("\x00") else client.send_str(text)
                )
    await client.close()


def _of_socket(faults: list[Fault]) -> Fault:
    fault = next(iter(faults), NO_FAULT)
    return fault.fresh() if fault.fresh else fault


def _ends_turn(text: str) -> bool:
    event = json.loads(text)
    return event["type"] in _ENDS or (event["type"] == "error" and "status" in event)


def _changed(reply: Reply, call: Call, fault: Fault) -> Reply:
    if fault.reply:
        return fault.reply(reply)
    body: Json = reply.body
    if fault.response and reply.status == 200 and "output" in body:
        if call.is_create:
            fault.ids.add(body["id"])
        return reply.with_body(fault.response(body))
    return reply


def _named(path: str) -> str:
    """The response that a path is of."""
    return path.removeprefix("/responses/").partition("?")[0]


async def _read(request: web.BaseRequest) -> bytes:
    """The body as it was sent, compressed or not."""
    pieces = [piece async for piece in request.content.iter_any()]
    return b"".join(pieces)


async def _pass_stream(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": answer.headers["content-type"]})
    await response.prepare(request)
    held = b""
    with suppress(ConnectionResetError):  # the client has left, and the service will see it
        async for data, is_end in answer.content.iter_chunks():
            held += data
            if is_end and held:
                await response.write(held)
                held = b""
    return response


async def _write_stream(request: web.BaseRequest, kind: str, writes: list[bytes]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": kind})
    await response.prepare(request)
    for data in writes:
        await response.write(data)
    return response
