"""The web's end of the log: one inbox per process, read by one task, dealt out to the responses that wait."""

import asyncio
import uuid
from collections import deque
from collections.abc import Iterable
from typing import Any, Final, Protocol

import redis.asyncio as redis_asyncio
import structlog
from django.conf import settings
from redis.exceptions import RedisError

from responses_api.eventlog import bus, journal, names
from responses_api.eventlog.connection import asyncio_client
from responses_api.eventlog.lasting import run_for_ever
from responses_api.eventlog.message import LAST, Kind, Message
from responses_api.protocol.errors import ProtocolError, invalid_request, server_error
from responses_api.protocol.sse import encode

log = structlog.get_logger(__name__)

_EXPIRE_SECONDS: Final = 15
_HOUSEKEEPING_SECONDS: Final = 1.0
_BLOCK_MILLISECONDS: Final = 2_000
_RETRY_SECONDS: Final = 0.25

_TOO_SLOW: Final = invalid_request(
    "The client reads more slowly than the response is generated, and too much waits to be sent; ask again.",
    code="client_too_slow",
)
_LOST: Final = server_error("The event log lost a part of this response; ask again.", code="events_lost")


class Source(Protocol):
    """Where a follower's messages come from."""

    client: "redis_asyncio.Redis"

    def forget(self, response_id: str) -> None:
        """Drop what still comes for the response."""


class Follower:
    """The messages of one response, in order."""

    def __init__(self, inbox: Source, response_id: str) -> None:
        self._inbox = inbox
        self._response_id = response_id
        self._messages: deque[Message] = deque()
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._next = 0
        self._is_failed = False
        self.is_ended = False
        """Whether the response's last message came from the log: its worker is done with it."""

    async def next_message(self, timeout: float) -> Message | None:
        """The next message, or None after `timeout` seconds of silence."""
        if not await self.has_more(timeout):
            return None
        message = self._messages.popleft()
        self._bytes -= len(message.body)
        return message

    async def has_more(self, timeout: float) -> bool:
        """Whether a message is there, or comes within `timeout` seconds."""
        if not self._messages:
            self._waiter = asyncio.get_running_loop().create_future()
            timer = asyncio.get_running_loop().call_later(timeout, self._wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        return bool(self._messages)

    def push(self, message: Message) -> bool:
        """Take a message that came for the response. False: others before it are missing, and it was not taken.

        One that was seen already (after a replay) and whatever comes after the last one is left out.
        """
        if self.is_ended or self._is_failed or (message.next and message.next <= self._next):
            return True
        if message.first > self._next:
            return False
        if (
            self._bytes + len(message.body) > settings.UNSENT_BYTES
            and self._messages
            and message.kind not in LAST
        ):
            # Its edge waits for a client that does not read. What is kept for such a one is bounded.
            self.fail(_TOO_SLOW)
            return True
        self._next = max(self._next, message.next)
        self.is_ended = message.kind in LAST
        self._take(message)
        return True

    def fail(self, error: ProtocolError) -> None:
        """End the response for its follower with an error that is not the worker's."""
        if not (self.is_ended or self._is_failed):
            self._is_failed = True
            self._take(Message(Kind.REJECT, 0, 0, encode(error.to_plain())))

    async def replay(self) -> None:
        """Take from the journal what has not come."""
        entries: Any = await self._inbox.client.xrange(names.journal(self._response_id))
        for message in journal.messages(entries):
            self.push(message)

    async def is_claimed(self) -> bool:
        """Whether a worker has taken the job."""
        return bool(await self._inbox.client.exists(names.claim(self._response_id)))

    async def is_running(self) -> bool:
        """Whether the response has still to end: its job waits or is being worked on."""
        return bool(await self._inbox.client.exists(names.job(self._response_id)))

    async def cancel(self) -> bool:
        """Nobody wants the response any more: tell its worker, now or when it begins. False: no worker has it, and none
        will run it.
        """
        return await bus.cancel(self._inbox.client, self._response_id)

    async def stop(self, why: str) -> None:
        """Ask the worker to end the response now; `why` as in `bus.stop`."""
        await bus.stop(self._inbox.client, self._response_id, why)

    def close(self) -> None:
        """Stop following."""
        self._inbox.forget(self._response_id)

    def _take(self, message: Message) -> None:
        self._messages.append(message)
        self._bytes += len(message.body)
        self._wake()

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
        self._replays: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Make the inbox and start to read it."""
        await self._make()
        self._tasks = [
            run_for_ever("inbox reader", self._read),
            run_for_ever("inbox housekeeping", self._keep_house),
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
            except (RedisError, OSError) as error:
                log.warning("the event log is away, trying again", error=type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            for _, entries in streams(reply):
                for entry_id, fields in entries:
                    self._last = entry_id
                    self._deal(fields)

    def _deal(self, fields: dict[bytes, bytes]) -> None:
        for raw_id, raw in fields.items():
            response_id = raw_id.decode()
            follower = self._followers.get(response_id)
            if follower is None:
                continue
            message = Message.from_bytes(raw)
            if not follower.push(message):
                replay = asyncio.create_task(self._fill_gap(response_id, follower, message))
                self._replays.add(replay)
                replay.add_done_callback(self._replays.discard)

    async def _fill_gap(self, response_id: str, follower: Follower, message: Message) -> None:
        """Messages before this one were lost (Valkey failed over, say): the journal was written with them."""
        log.warning("messages were missed; replaying from the journal", response_id=response_id)
        try:
            await follower.replay()
        except (RedisError, OSError) as error:
            log.warning("the journal could not be read", error=type(error).__name__)
        if not follower.push(message):
            follower.fail(_LOST)

    async def _keep_house(self) -> None:
        """Drop what was read, and keep the inbox alive: one that nobody reads expires, which tells the workers."""
        while True:
            await asyncio.sleep(_HOUSEKEEPING_SECONDS)
            try:
                pipeline = self.client.pipeline(transaction=False)
                pipeline.xtrim(self.name, minid=_following(self._last), approximate=False)
                pipeline.expire(self.name, _EXPIRE_SECONDS)
                _, is_there = await pipeline.execute()
                if not is_there:
                    await self._recover()
            except (RedisError, OSError) as error:
                log.warning("inbox housekeeping failed, trying again", error=type(error).__name__)

    async def _recover(self) -> None:
        """The inbox was lost (Valkey restarted, or this process slept): make it anew and replay what was missed."""
        log.warning("the inbox was lost; replaying from the journals", followers=len(self._followers))
        await self._make()
        for follower in list(self._followers.values()):
            await follower.replay()


def _following(entry_id: bytes) -> str:
    """The first id that an entry after this one can have."""
    milliseconds, _, number = entry_id.decode().partition("-")
    return f"{milliseconds}-{int(number) + 1}"


def streams(reply: Any) -> Iterable[tuple[bytes, list[tuple[bytes, dict[bytes, bytes]]]]]:
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
