"""The web's end of the log: one inbox per process, read by one task, dealt out to the responses that wait."""

import asyncio
import uuid
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import structlog
from redis.exceptions import RedisError

from responses_api.eventlog import bus, journal, names
from responses_api.eventlog.connection import asyncio_client
from responses_api.eventlog.message import LAST, Kind, Message
from responses_api.protocol.errors import ProtocolError, server_error
from responses_api.protocol.sse import encode

log = structlog.get_logger(__name__)

_EXPIRE_SECONDS: Final = 15
_HOUSEKEEPING_SECONDS: Final = 1.0
_BLOCK_MILLISECONDS: Final = 2_000
_RETRY_SECONDS: Final = 0.25


class Follower:
    """The messages of one response, in order."""

    def __init__(self, inbox: "Inbox", response_id: str) -> None:
        self._inbox = inbox
        self._response_id = response_id
        self._messages: deque[Message] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._next = 0
        self._is_ended = False

    async def next_message(self, timeout: float) -> Message | None:
        """The next message, or None after `timeout` seconds of silence."""
        if not self._messages:
            self._waiter = asyncio.get_running_loop().create_future()
            timer = asyncio.get_running_loop().call_later(timeout, self._wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        return self._messages.popleft() if self._messages else None

    def push(self, message: Message) -> None:
        """Take a message that came for the response. One that was seen already (after a replay) is left out."""
        if self._is_ended or (message.next and message.next <= self._next):
            return
        self._next = max(self._next, message.next)
        self._is_ended = message.kind in LAST
        self._messages.append(message)
        self._wake()

    def fail(self, error: ProtocolError) -> None:
        """End the response for its follower with an error that is not the worker's."""
        self.push(Message(Kind.REJECT, 0, 0, encode(error.to_plain())))

    async def is_claimed(self) -> bool:
        """Whether a worker has taken the job."""
        return bool(await self._inbox.client.exists(names.claim(self._response_id)))

    async def cancel(self) -> None:
        """Nobody wants the response any more: tell its worker, now or when it begins."""
        await bus.cancel(self._inbox.client, self._response_id)

    def close(self) -> None:
        """Stop following."""
        self._inbox.forget(self._response_id)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Inbox:
    """The inbox of this process: its reader, its housekeeping, and the followers it deals messages out to."""

    def __init__(self) -> None:
        self.name = names.inbox(uuid.uuid4().hex)
        self.client = asyncio_client()
        self._followers: dict[str, Follower] = {}
        self._last = b"0"
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Make the inbox and start to read it."""
        await self._make()
        self._tasks = [
            asyncio.create_task(self._read(), name="inbox reader"),
            asyncio.create_task(self._keep_house(), name="inbox housekeeping"),
        ]

    def follow(self, response_id: str) -> Follower:
        """Follow a response from its first message; call before its job is dispatched."""
        follower = self._followers[response_id] = Follower(self, response_id)
        return follower

    def forget(self, response_id: str) -> None:
        """Drop what still comes for the response."""
        self._followers.pop(response_id, None)

    async def close(self) -> None:
        """Stop reading and remove the inbox."""
        for task in self._tasks:
            task.cancel()
        await self.client.delete(self.name)
        await self.client.aclose()

    async def _make(self) -> None:
        pipeline = self.client.pipeline(transaction=True)
        pipeline.xadd(self.name, {"": ""})
        pipeline.expire(self.name, _EXPIRE_SECONDS)
        self._last, _ = await pipeline.execute()

    async def _read(self) -> None:
        while True:
            try:
                reply: Any = await self.client.xread({self.name: self._last}, block=_BLOCK_MILLISECONDS)
            except RedisError as error:
                log.warning("the event log is away, trying again", error=type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            for _, entries in _streams(reply):
                for entry_id, fields in entries:
                    self._last = entry_id
                    self._deal(fields)

    def _deal(self, fields: dict[bytes, bytes]) -> None:
        for response_id, raw in fields.items():
            follower = self._followers.get(response_id.decode())
            if follower is not None:
                follower.push(Message.from_bytes(raw))

    async def _keep_house(self) -> None:
        """Drop what was read, and keep the inbox alive: one that nobody reads expires, which tells the workers."""
        while True:
            await asyncio.sleep(_HOUSEKEEPING_SECONDS)
            try:
                pipeline = self.client.pipeline(transaction=False)
                pipeline.xtrim(self.name, minid=self._last, approximate=False)
                pipeline.expire(self.name, _EXPIRE_SECONDS)
                _, is_there = await pipeline.execute()
                if not is_there:
                    await self._recover()
            except RedisError as error:
                log.warning("inbox housekeeping failed, trying again", error=type(error).__name__)

    async def _recover(self) -> None:
        """The inbox was lost (Valkey restarted, or this process slept): make it anew and replay what was missed."""
        log.warning("the inbox was lost; replaying from the journals", followers=len(self._followers))
        await self._make()
        for response_id, follower in list(self._followers.items()):
            entries: Any = await self.client.xrange(names.journal(response_id))
            for message in journal.messages(entries):
                follower.push(message)
            if not await self.client.exists(names.job(response_id)):
                follower.fail(
                    server_error("The event log lost this response; ask again.", code="events_lost")
                )


def _streams(reply: Any) -> Iterable[tuple[bytes, list[tuple[bytes, dict[bytes, bytes]]]]]:
    """The streams of an XREAD reply, whatever the protocol version's shape."""
    if not reply:
        return ()
    if isinstance(reply, dict):
        return [(name, [entry for chunk in chunks for entry in chunk]) for name, chunks in reply.items()]
    return reply  # type: ignore[no-any-return]


_inbox: Inbox | None = None
_opening: asyncio.Lock | None = None


async def process_inbox() -> Inbox:
    """The inbox of this web process, opened at its first use."""
    global _inbox, _opening
    if _inbox is None:
        _opening = _opening or asyncio.Lock()
        async with _opening:
            if _inbox is None:
                inbox = Inbox()
                await inbox.open()
                _inbox = inbox
    return _inbox
