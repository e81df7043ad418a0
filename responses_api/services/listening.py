"""One client's ear on its response: every transport hears it through this, and always hears its end."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Protocol

import structlog
from django.conf import settings
from redis.exceptions import RedisError

from responses_api.eventlog.follow import Follower
from responses_api.eventlog.message import LAST, Kind, Message
from responses_api.protocol.closing import closing
from responses_api.protocol.errors import ProtocolError, overloaded, server_error
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.fold import fold
from responses_api.protocol.sse import decode, frames_to_data
from responses_api.services.endings import failed, failure
from responses_api.services.faults import ending_of

log = structlog.get_logger(__name__)

NOBODY_CAME: Final = overloaded("No worker took the request in time; try again.", retry_after=5)
_END_LOST: Final = server_error("The event log lost the end of this response.", code="events_lost")
_ON_THE_WAY_SECONDS: Final = 1.0
_FAREWELL_SECONDS: Final = 0.7
_MOST_KEPT_BYTES: Final = 1 << 20


Recover = Callable[[int, bytes], Awaitable[Message | None]]
"""Finds what was stored where the last message was lost: the answer of a request for JSON, or the rest of a stream that
was told up to the event of this number, with these frames last.
"""


Unrun = Callable[[ProtocolError | None], Awaitable[None]]
"""Hears that no worker will run the response: refused with an error, or unwanted before any had it."""


async def _nothing(told: int, last: bytes) -> None:
    return None


class Ear(Protocol):
    """What a transport hears a response through."""

    is_resumable: bool
    """Whether a stream that is cut may be taken up again where it was: then it is not ended for being cut."""

    async def next_message(self) -> Message | None:
        """The next message; None where the client wants a sign of life."""

    def break_off(self, error: ProtocolError) -> Message:
        """The end of a stream that has begun and cannot go on here."""

    async def close(self) -> None:
        """Stop listening; to be called whatever happens."""


class Stored:
    """What is common to ears on what is stored, or will be: who is cut off asks again."""

    is_resumable = True

    def break_off(self, error: ProtocolError) -> Message:
        """Never: it is resumable."""
        raise RuntimeError("a stream that can be resumed is cut, not ended")

    async def close(self) -> None:
        """There is nothing to close."""


class Said(Stored):
    """An answer that is there at once: these messages, of which the last is of `LAST`."""

    def __init__(self, *messages: Message) -> None:
        self._messages = iter(messages)

    async def next_message(self) -> Message | None:
        """The next message."""
        return next(self._messages)


class Listener:
    """The messages of a response for one client. Close it whatever happens: a response nobody hears is cancelled.

    It remembers what it told (up to a mebibyte), so that a stream which the log cannot end still ends by the rules.
    """

    def __init__(
        self,
        follower: Follower,
        dialect: Dialect,
        recover: Recover = _nothing,
        *,
        is_resumable: bool = False,
        on_unrun: Unrun | None = None,
    ) -> None:
        self.is_resumable = is_resumable
        self._on_unrun = on_unrun
        self._refused_by: ProtocolError | None = None
        self._follower = follower
        self._recover = recover
        self._dialect: Dialect = dialect
        self._is_begun = False
        self._told: list[bytes] = []
        self._told_bytes = 0
        self._last = b""
        self._next = 0

    async def next_message(self) -> Message | None:
        """The next message; None after a while of silence, when the client wants a sign of life.

        The first message is never None: it is waited for `QUEUE_SECONDS` until a worker takes the job, then for as long
        as the worker has it. REJECT comes as the first message or not at all.
        """
        if not self._is_begun:
            message = await self._first_message()
        else:
            silence = await self._follower.next_message(settings.KEEP_ALIVE_SECONDS)
            if silence is None:
                await self._check()
                return None
            message = silence
        if message.kind is Kind.REJECT and not self._follower.is_ended:
            self._refused_by = ProtocolError.from_plain(decode(message.body))
        if message.kind is Kind.REJECT and self._told:
            return self.break_off(ProtocolError.from_plain(decode(message.body)))
        self._remember(message)
        return message

    def break_off(self, error: ProtocolError) -> Message:
        """The end of a stream that has begun and cannot go on here."""
        log.error("a stream broke off", error=error.code or error.type)
        told = [decode(data) for body in self._told for data in frames_to_data(body)]
        so_far = fold(told)
        assert so_far is not None, "a stream begins with a snapshot"
        is_whole = told[-1]["sequence_number"] + 1 == self._next
        ends = closing(told, self._dialect) if is_whole else ()
        return failure(ends, failed(so_far, error), error, self._next)

    async def farewell(self, error: ProtocolError) -> AsyncIterator[Message]:
        """The end of a stream that has begun and may not go on: the one that its worker makes, which is stored as it
        is told, or where that does not come in time one made here.
        """
        ends_at = time.monotonic() + _FAREWELL_SECONDS
        try:
            await self._follower.stop(ending_of(error))
            while message := await self._follower.next_message(max(0.0, ends_at - time.monotonic())):
                if message.kind is Kind.REJECT:
                    break
                self._remember(message)
                yield message
                if message.kind in LAST:
                    return
        except (RedisError, OSError) as away:
            log.warning("a response could not be ended", error=type(away).__name__)
        yield self.break_off(error)

    async def close(self) -> None:
        """Stop listening. Unless the response has come to its end, nobody wants it any more."""
        self._follower.close()
        if self._follower.is_ended:
            return
        try:
            has_worker = await self._follower.cancel()
        except (RedisError, OSError) as error:
            log.warning("a response could not be cancelled", error=type(error).__name__)
            return
        if not has_worker and self._on_unrun is not None:
            await self._on_unrun(self._refused_by)

    async def _first_message(self) -> Message:
        message = await self._follower.next_message(settings.QUEUE_SECONDS)
        while message is None:
            await self._check()
            if not await self._follower.is_claimed():
                self._follower.fail(NOBODY_CAME)
            message = await self._follower.next_message(settings.KEEP_ALIVE_SECONDS)
        self._is_begun = True
        return message

    async def _check(self) -> None:
        """In a silence: a response that has ended without its end coming here never will."""
        if await self._follower.is_running():
            return
        # It may have ended this very moment: its last words were written with its job's end, and are on their way.
        if await self._follower.has_more(_ON_THE_WAY_SECONDS):
            return
        await self._follower.replay()
        if not self._follower.is_ended:
            stored = await self._recover(self._next, self._last)
            if stored is not None:
                self._follower.push(stored)
        self._follower.fail(_END_LOST)

    def _remember(self, message: Message) -> None:
        if message.kind in LAST:
            return
        self._next, self._last = message.next, message.body
        self._told_bytes += len(message.body)
        if not self._told or self._told_bytes <= _MOST_KEPT_BYTES:
            self._told.append(message.body)


async def farewell(ear: Ear, error: ProtocolError) -> AsyncIterator[Message]:
    """What a client is still told of a stream that ends with `error`, because this process is being stopped or its key
    has ended: of one that can be taken up again elsewhere nothing, of any other its end.
    """
    if isinstance(ear, Listener) and not ear.is_resumable:
        async for message in ear.farewell(error):
            yield message
