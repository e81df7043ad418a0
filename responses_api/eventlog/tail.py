"""Following journals: any process may hear a response that another one asked for, from its first event on."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog
from redis.exceptions import RedisError

from responses_api.eventlog import names
from responses_api.eventlog.connection import asyncio_client
from responses_api.eventlog.follow import Follower, streams
from responses_api.eventlog.lasting import run_for_ever
from responses_api.eventlog.message import Message
from responses_api.eventlog.turns import background_seconds

log = structlog.get_logger(__name__)

_BLOCK_MILLISECONDS: Final = 2_000
_MOST_ENTRIES: Final = 200
_BELL_SECONDS: Final = 60
_RETRY_SECONDS: Final = 0.25
_BEGINNING: Final = b"0-0"


class Reader(Follower):
    """A follower that hears the journal instead of an inbox. That it leaves means nothing to the response.

    `runs` says whether the response has still to end, for one that will be taken up however late; without it the
    response is one that is refused when no worker takes it in time.
    """

    def __init__(
        self, tail: "Tail", response_id: str, runs: Callable[[], Awaitable[bool]] | None = None
    ) -> None:
        super().__init__(tail, response_id)
        self._tail = tail
        self._runs = runs

    async def is_claimed(self) -> bool:
        """Whether there is somebody to wait for."""
        return True if self._runs is not None else await super().is_claimed()

    async def is_running(self) -> bool:
        """Whether the response has still to end."""
        return await self._runs() if self._runs is not None else await super().is_running()

    async def cancel(self) -> bool:
        """Nothing: others may want the response."""
        return True

    def close(self) -> None:
        """Stop following."""
        self._tail.forget_reader(self._response_id, self)


class Tail:
    """The journals that are followed in this process, all read by one blocking command on one connection."""

    def __init__(self) -> None:
        self.client = asyncio_client()
        self._bell = names.bell(uuid.uuid4().hex)
        self._readers: dict[str, set[Reader]] = {}
        self._places: dict[str, bytes] = {}
        self._rung = _BEGINNING
        self._wanted = asyncio.Event()
        self._replays: set[asyncio.Task[None]] = set()
        self._task = run_for_ever("journal reader", self._read)

    async def follow(self, response_id: str, runs: Callable[[], Awaitable[bool]] | None = None) -> Reader:
        """Follow the journal of a response from its first message on. Raises RedisError or OSError."""
        if runs is not None:
            # Before anything is read: whoever drops a journal that nobody has seen must know of it.
            await self.client.set(names.seen(response_id), b"1", ex=background_seconds())
        reader = Reader(self, response_id, runs)
        self._readers.setdefault(response_id, set()).add(reader)
        try:
            await self._ring()
            await reader.replay()
        except BaseException:
            reader.close()
            raise
        return reader

    def forget(self, response_id: str) -> None:
        """Stop following a response altogether."""
        self._readers.pop(response_id, None)
        self._places.pop(response_id, None)

    def forget_reader(self, response_id: str, reader: Reader) -> None:
        """Stop following for one reader."""
        readers = self._readers.get(response_id)
        if readers is not None:
            readers.discard(reader)
            if not readers:
                self.forget(response_id)

    async def close(self) -> None:
        """Stop reading."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.client.aclose()

    async def _ring(self) -> None:
        """Let the reader begin anew with one journal more than it is reading."""
        self._wanted.set()
        pipeline = self.client.pipeline(transaction=False)
        pipeline.xadd(self._bell, {"": ""}, maxlen=1)
        pipeline.expire(self._bell, _BELL_SECONDS)
        await pipeline.execute()

    async def _read(self) -> None:
        while True:
            if not self._readers:
                self._wanted.clear()
                await self._wanted.wait()
            by_journal = {names.journal(response_id): response_id for response_id in self._readers}
            places: dict[Any, Any] = {
                name: self._places.setdefault(response_id, _BEGINNING)
                for name, response_id in by_journal.items()
            }
            try:
                reply: Any = await self.client.xread(
                    {self._bell: self._rung, **places}, count=_MOST_ENTRIES, block=_BLOCK_MILLISECONDS
                )
            except (RedisError, OSError) as error:
                log.warning("the journals are away, trying again", error=type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            for raw_name, entries in streams(reply):
                response_id = by_journal.get(raw_name.decode())
                if response_id is None:
                    self._rung = entries[-1][0]
                else:
                    self._deal(response_id, entries)

    def _deal(self, response_id: str, entries: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
        if response_id in self._places:
            self._places[response_id] = entries[-1][0]
        for _, fields in entries:
            message = Message.from_bytes(fields[b"m"])
            for reader in list(self._readers.get(response_id, ())):
                if not reader.push(message):
                    self._catch_up(reader)

    def _catch_up(self, reader: Reader) -> None:
        """A reader that has just come misses what was told before."""
        replay = asyncio.create_task(_replay_again(reader))
        self._replays.add(replay)
        replay.add_done_callback(self._replays.discard)


async def _replay_again(reader: Reader) -> None:
    try:
        await reader.replay()
    except (RedisError, OSError) as error:
        log.warning("a journal could not be read", error=type(error).__name__)


_tail: Tail | None = None


def process_tail() -> Tail:
    """The journal reader of this web process, started at its first use."""
    global _tail
    if _tail is None:
        _tail = Tail()
    return _tail
