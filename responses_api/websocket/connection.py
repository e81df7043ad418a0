"""One client's connection: its messages have their turns in order, one response at a time.

Specification: "WebSocket". Key, model and everything else are checked anew in each turn. A connection ends because its
client leaves, or with an `Ending`: then nothing new begins, the response that runs comes to its end, what still waits
is told why, and the socket is closed. Where it cannot wait, because the process is stopped or the key has ended, the
response is ended with it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import structlog
from django.conf import settings

from responses_api.eventlog.message import Kind, Message
from responses_api.protocol.clients import leaves_out_tools
from responses_api.protocol.dialects import dialect_of
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.reading import LARGE_BYTES
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.sse import decode, frames_to_data
from responses_api.services.access import Scope, Visitor, authenticate
from responses_api.services.create import Started, admission, prepare, start
from responses_api.services.faults import STOPPED, internal_error
from responses_api.services.keeping import as_kept
from responses_api.services.listening import farewell
from responses_api.services.offload import off_loop_if
from responses_api.services.pinning import pin_in
from responses_api.services.prepared import Prepared
from responses_api.services.presence import Stay
from responses_api.services.warm import warm
from responses_api.websocket.memory import Memory
from responses_api.websocket.messages import Turn, continued_by, envelope, read_message, turn_of
from responses_api.websocket.shown import asked_of_the_worker, shown_event
from responses_api.websocket.waiting import MessageQueue, Waiting
from tenants.keys import Principal

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a connection ends: what the messages that still wait are told, and the code it is closed with.

    `is_announced`: whether the client is told even if nothing waits.
    """

    error: ProtocolError
    code: int
    is_announced: bool = False


RESTART: Final = Ending(STOPPED, 1012)
"""The process ends. 1012, "service restart", tells clients to connect again."""

SCOPE: Final[Scope] = "responses:write"

_NORMAL: Final = 1000
_KEY_ENDED: Final = 4401


@dataclass(frozen=True, slots=True)
class Client:
    """Who is at the other end, and the handshake's headers. `send` takes the text of one frame, `close` a code."""

    visitor: Visitor
    stay: Stay
    headers: Mapping[bytes, bytes]
    request_id: str
    send: Callable[[str], Awaitable[None]]
    close: Callable[[int], Awaitable[None]]


class Connection:
    """The turns of one client. `take` what it sends; `leave` when it has gone."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._queue = MessageQueue()
        self._memory = Memory()
        self._ending: Ending | None = None
        self._is_stopped = False
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._run())
        self._watch = asyncio.create_task(self._end_with_its_key())

    async def take(self, text: str | None) -> None:
        """A frame has come; None is one that is not text. It waits for its turn."""
        try:
            self._queue.put(text)
        except ProtocolError as error:
            log.info("message refused", code=error.code)
            await self._client.send(envelope(error))

    def end(self, ending: Ending) -> None:
        """Begin nothing new; close when the response that runs has ended."""
        self._ending = self._ending or ending
        self._queue.close()

    async def stop(self, ending: Ending = RESTART) -> None:
        """End now: nobody can wait. The client is told."""
        self._is_stopped = True
        self._ending = ending if ending.is_announced else self._ending or ending
        self._queue.close()
        await self._cancel(self._task)

    async def leave(self) -> None:
        """Nobody is there any more (or is to be): what runs is cancelled."""
        self._client.stay.leave()
        await self._cancel(self._watch, self._task)

    async def _cancel(self, *tasks: "asyncio.Task[None] | None") -> None:
        running = [task for task in tasks if task is not None and not task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _end_with_its_key(self) -> None:
        error = await asyncio.shield(self._client.stay.over)
        log.info("ended with its key")
        await self.stop(Ending(error, _KEY_ENDED, is_announced=True))

    async def _run(self) -> None:
        limit = asyncio.get_running_loop().call_later(settings.WEBSOCKET_SECONDS, self.end, _time_is_up())
        try:
            while (message := await self._queue.next()) is not None:
                await self._take_turn(message)
        except asyncio.CancelledError:
            if not self._is_stopped:
                raise
        finally:
            limit.cancel()
        await self._say_goodbye()

    async def _say_goodbye(self) -> None:
        assert self._ending is not None, "the queue is closed by an ending"
        for _ in range(self._queue.empty() or int(self._ending.is_announced)):
            await self._client.send(envelope(self._ending.error))
        await self._client.close(self._ending.code)

    async def _take_turn(self, waiting: Waiting) -> None:
        """Answer one message, with the events of a response or with an error."""
        continued: str | None = None
        try:
            if isinstance(waiting, ProtocolError):
                raise waiting
            message = await off_loop_if(len(waiting) > LARGE_BYTES, read_message, waiting)
            continued = continued_by(message)
            principal = await authenticate(self._client.visitor, SCOPE)
            leave_out = leaves_out_tools(self._client.headers, principal.unserved_tools)
            turn = await off_loop_if(len(waiting) > LARGE_BYTES, turn_of, message, leave_out)
            turn = replace(turn, request=as_kept(principal, turn.request))
            final = await self._answer(principal, turn)
            if final["status"] == "failed":
                self._memory.evict(continued)
        except ProtocolError as error:
            self._memory.evict(continued)
            await self._refuse(error)
        except Exception:
            log.exception("a turn failed")
            self._memory.evict(continued)
            await self._client.send(envelope(internal_error()))

    async def _refuse(self, error: ProtocolError) -> None:
        log.info("message refused", status=error.status, code=error.code, field=error.field)
        await self._client.send(envelope(error))
        if error.status == 401:
            self.end(Ending(error, _KEY_ENDED))

    async def _answer(self, principal: Principal, turn: Turn) -> Json:
        """Run one turn and return the response's final snapshot. Raises `ProtocolError` where it never began."""
        prepared = await prepare(
            principal=principal,
            request=asked_of_the_worker(turn.request),
            dialect=dialect_of(self._client.headers, principal.dialect),
            request_id=self._client.request_id,
            remembered=await self._memory.recall(turn.request),
            generates=turn.generates,
            backend=pin_in(self._client.headers, principal),
        )
        with structlog.contextvars.bound_contextvars(response_id=prepared.job.response_id):
            if turn.generates:
                final = await self._generate(prepared, turn.request)
            else:
                final = await self._warm(prepared, turn.request)
        await self._memory.learn(prepared.job, final)
        return final

    async def _warm(self, prepared: Prepared, request: CreateRequest) -> Json:
        async with admission(prepared):
            message, final = await warm(prepared.job)
        await self._tell(message, request)
        return final

    async def _generate(self, prepared: Prepared, request: CreateRequest) -> Json:
        started = await start(prepared)
        try:
            return await self._relay(started, request)
        finally:
            await started.listener.close()

    async def _relay(self, started: Started, request: CreateRequest) -> Json:
        message = await self._first_message(started)
        try:
            while message is None or message.kind is Kind.EVENTS:
                if message is not None:
                    await self._tell(message, request)
                message = await started.listener.next_message()
        except asyncio.CancelledError:
            if self._is_stopped:
                async for last_words in farewell(started.listener, self._why()):
                    await self._tell(last_words, request)
            raise
        except Exception:
            # The client has seen the response begin: whatever happens now has to be said in its events.
            log.exception("relay failed")
            message = started.listener.break_off(internal_error())
        last = await self._tell(message, request)
        final: Json = decode(last)["response"]
        return final

    async def _first_message(self, started: Started) -> Message | None:
        """The first message. Raises the `ProtocolError` of one that refuses."""
        try:
            message = await started.listener.next_message()
        except asyncio.CancelledError:
            if self._is_stopped and not (self._ending and self._ending.is_announced):
                await self._client.send(envelope(self._why()))
            raise
        assert message is not None, "a listener's first message is one"
        if message.kind is Kind.REJECT:
            raise ProtocolError.from_plain(decode(message.body))
        return message

    def _why(self) -> ProtocolError:
        """What a response that cannot wait ends with."""
        return self._ending.error if self._ending is not None else STOPPED

    async def _tell(self, message: Message, request: CreateRequest) -> bytes:
        """Send each event of a message as a frame of its own; the last one as the worker told it."""
        data = b""
        for data in frames_to_data(message.body):
            await self._client.send(shown_event(data, request).decode())
        return data


def _time_is_up() -> Ending:
    error = invalid_request(
        f"A connection lasts for {settings.WEBSOCKET_SECONDS:g} seconds at most; connect again to go on.",
        code="websocket_connection_limit_reached",
    )
    return Ending(error, _NORMAL, is_announced=True)
