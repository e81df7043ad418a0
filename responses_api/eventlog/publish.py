"""The worker's end of the log: everything pending in a turn of the loop leaves in one pipeline write."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import redis.asyncio as redis_asyncio
import structlog
from django.conf import settings
from redis.exceptions import RedisError

from responses_api.eventlog import names
from responses_api.eventlog.lasting import run_for_ever
from responses_api.eventlog.message import LAST, Message

log = structlog.get_logger(__name__)

_JOURNAL_ENTRIES: Final = 200_000
_BACKLOG_BYTES: Final = 1 << 20
_RETRY_SECONDS: Final = 0.25


# What a worker says that was given up as lost meanwhile must not mix with what another one says.
_APPEND: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'm', ARGV[3])
redis.call('EXPIRE', KEYS[2], ARGV[4])
if ARGV[5] ~= '' then
  redis.call('DEL', unpack(KEYS, 4))
  redis.call('SREM', KEYS[3], ARGV[5])
end
return 1
"""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a response's messages go: the inbox of the process that asked, and whether a journal keeps them."""

    response_id: str
    worker: str
    """The name that the job was claimed under."""
    inbox: str | None
    journal: bool
    keep_journal: bool
    """After the end the journal stays for `JOURNAL_SECONDS`; otherwise it is deleted with the last message."""
    is_background: bool = False
    """Another worker may go on with it: only who holds the claim may write."""


class Publisher:
    """Collects messages and writes them, in order, in as few writes as the load allows."""

    def __init__(self, client: "redis_asyncio.Redis") -> None:
        self._client = client
        self._pending: dict[str, tuple[Address, Message]] = {}
        self._bytes = 0
        self._is_writing = False
        self._wake = asyncio.Event()
        self._written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = run_for_ever("publisher", self._run)

    def publish(self, address: Address, message: Message) -> None:
        """Take `message`; it is written soon."""
        held = self._pending.get(address.response_id)
        if held is None:
            self._pending[address.response_id] = (address, message)
        else:
            held[1].absorb(message)
        self._bytes += len(message.body)
        self._wake.set()

    async def keep_up(self, *, at_once: bool = False) -> None:
        """For producers, between messages: wait for a writer that lags behind.

        With `at_once` also for one that was idle, so that a message leaves before the next is made: the first events of
        a stream gain by it. Under load the writer is busy, and nobody waits.
        """
        if self._bytes > _BACKLOG_BYTES or (at_once and not self._is_writing):
            await self.flushed()

    async def flushed(self) -> None:
        """Wait until everything taken so far is written."""
        while self._pending or self._is_writing:
            await asyncio.shield(self._written)

    async def close(self) -> None:
        """Write what is pending and stop."""
        await self.flushed()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            if not self._pending:
                continue
            # Messages that come while this write is under way wait in a new collection and leave with the next one.
            batch, self._pending, self._bytes = list(self._pending.values()), {}, 0
            self._is_writing = True
            try:
                await self._write_until_done(batch)
            finally:
                self._is_writing = False
                written, self._written = self._written, asyncio.get_running_loop().create_future()
                written.set_result(None)

    async def _write_until_done(self, batch: list[tuple[Address, Message]]) -> None:
        """Write `batch`; while Valkey is away, wait and try again: order and completeness come before speed."""
        while True:
            try:
                await self._write(batch)
            except (RedisError, OSError) as error:
                log.warning("event log write failed, trying again", error=type(error).__name__)
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    async def _write(self, batch: list[tuple[Address, Message]]) -> None:
        by_inbox: dict[str, dict[Any, Any]] = {}
        pipeline = self._client.pipeline(transaction=False)
        encoded = [(address, message, message.to_bytes()) for address, message in batch]
        for address, _, raw in encoded:
            if address.inbox is not None:
                by_inbox.setdefault(address.inbox, {})[address.response_id] = raw
        for inbox, fields in by_inbox.items():
            # The inbox is made by its reader. Where it is missing, its reader makes it anew and reads the journals, or
            # is gone, which the lease's look at the inboxes finds out.
            pipeline.xadd(inbox, fields, nomkstream=True)
        for address, message, raw in encoded:
            self._keep(pipeline, address, message, raw)
        await pipeline.execute()

    def _keep(self, pipeline: Any, address: Address, message: Message, raw: bytes) -> None:
        """Journal the message, and after the last one let go of all that was kept for the response."""
        is_last = message.kind in LAST
        if address.is_background:
            _append(pipeline, address, raw, is_last=is_last)
            return
        if address.journal and (address.keep_journal or not is_last):
            journal = names.journal(address.response_id)
            # Only the first message makes a journal: one that was removed meanwhile must not come back without an end.
            pipeline.xadd(
                journal, {"m": raw}, maxlen=_JOURNAL_ENTRIES, approximate=True, nomkstream=message.first > 0
            )
            if is_last:
                pipeline.expire(journal, settings.JOURNAL_SECONDS)
            elif message.first == 0:
                pipeline.expire(journal, int(settings.RESPONSE_SECONDS + settings.JOURNAL_SECONDS))
        if is_last:
            release(pipeline, address.response_id, address.worker, keep_journal=address.keep_journal)


def _append(pipeline: Any, address: Address, raw: bytes, *, is_last: bool) -> None:
    """Journal a message of a background response, and after the last one let go of what was kept for it."""
    response_id = address.response_id
    keys = [
        names.claim(response_id),
        names.journal(response_id),
        names.running(address.worker),
        *names.until_ended(response_id),
    ]
    seconds = (
        settings.JOURNAL_SECONDS if is_last else int(settings.RESPONSE_SECONDS + settings.JOURNAL_SECONDS)
    )
    ended = response_id if is_last else ""
    pipeline.eval(_APPEND, len(keys), *keys, address.worker, _JOURNAL_ENTRIES, raw, seconds, ended)


async def missing_inboxes(client: "redis_asyncio.Redis", inboxes: Iterable[str]) -> list[str]:
    """Those of the inboxes that are not there (any more)."""
    asked = list(inboxes)
    pipeline = client.pipeline(transaction=False)
    for inbox in asked:
        pipeline.exists(inbox)
    replies = await pipeline.execute() if asked else []
    return [inbox for inbox, is_there in zip(asked, replies, strict=True) if not is_there]


def release(pipeline: Any, response_id: str, worker: str, *, keep_journal: bool) -> None:
    """Queue the commands that forget a response which has ended."""
    gone = list(names.until_ended(response_id))
    if not keep_journal:
        gone.append(names.journal(response_id))
    pipeline.delete(*gone)
    pipeline.srem(names.running(worker), response_id)
