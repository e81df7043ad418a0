"""Follow: the stream of a response again, or from where a client had come to, in whichever web process it asks."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog
from django.conf import settings
from redis.exceptions import RedisError

from responses_api.eventlog.message import LAST, Kind, Message
from responses_api.eventlog.tail import Reader, process_tail
from responses_api.models import Response
from responses_api.models.fields import is_id
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError, overloaded
from responses_api.protocol.job import Job
from responses_api.protocol.obfuscation import with_padding
from responses_api.protocol.sse import frames_of
from responses_api.services.background import job_of_row
from responses_api.services.database import in_database
from responses_api.services.listening import Ear, Listener, Stored
from responses_api.services.running import find_running
from responses_api.services.stored import missing, rest_of_stream, stream_of
from tenants.scoping import tenant_scope

log = structlog.get_logger(__name__)

_AWAY: Final = overloaded("The event log does not answer at the moment; try again.")
_LOOK_SECONDS: Final = 0.2
_PIECE_BYTES: Final = 1 << 18


class Changed:
    """An ear that hears each message of another one changed; what has become empty it does not hear."""

    def __init__(self, ear: Ear, change: Callable[[Message], Message]) -> None:
        self._ear = ear
        self._change = change
        self.is_resumable = ear.is_resumable

    async def next_message(self) -> Message | None:
        """The next message that is left, or is the last."""
        while True:
            message = await self._ear.next_message()
            if message is None:
                return None
            changed = self._change(message)
            if changed.body or changed.kind in LAST:
                return changed

    def break_off(self, error: ProtocolError) -> Message:
        """The end of a stream that has begun and cannot go on here."""
        return self._change(self._ear.break_off(error))

    async def close(self) -> None:
        """Stop listening."""
        await self._ear.close()


def after(number: int, message: Message) -> Message:
    """The message without its events up to `number`."""
    if message.first > number or message.kind not in (Kind.EVENTS, Kind.END):
        return message
    body = b"".join(frames_of(message.body)[number + 1 - message.first :])
    return Message(message.kind, min(number + 1, message.next), message.next, body)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its stream, and how, a response is to be followed."""

    starting_after: int | None = None
    """The number of the last event that is known already."""
    is_padded: bool | None = None
    """Whether deltas are to be padded; None: as they were when they were told first."""


async def follow(tenant_id: uuid.UUID, response_id: str, place: Place) -> Ear:
    """The stream of a stored response, from `place` to its end, whether it still runs or has ended.

    Raises `ProtocolError` 404, 503 while the event log is away.
    """
    found = await in_database(_find, tenant_id, response_id)
    ear: Ear
    if isinstance(found, Retold):
        ear = found
    elif found.is_background or found.request["stream"]:
        ear = await follow_running(found)
    else:
        ear = Awaited(found)
    if place.is_padded is not None:
        ear = Changed(ear, partial(_padded, response_id, place.is_padded))
    if place.starting_after is not None:
        ear = Changed(ear, partial(after, place.starting_after))
    return ear


async def follow_running(job: Job) -> Ear:
    """The stream of a response that has not ended and is told to a journal. Raises `ProtocolError` 503."""
    reader = await follow_journal(job.response_id, partial(_runs, job))
    return Listener(reader, job.dialect, partial(_stored_rest, job), is_resumable=True)


async def follow_journal(response_id: str, runs: Callable[[], Awaitable[bool]] | None = None) -> Reader:
    """A follower of a response's journal; `runs` as in `Reader`. Raises `ProtocolError` 503."""
    try:
        return await process_tail().follow(response_id, runs)
    except (RedisError, OSError) as error:
        log.error("Valkey does not answer", error=type(error).__name__)
        raise _AWAY.anew() from error


class Retold(Stored):
    """The stream of a response that has ended, told again piece by piece, each made when its client has read the last.

    The first piece is made by who makes this; that may take a moment, so in a thread.
    """

    def __init__(self, frames: Iterator[bytes]) -> None:
        self._frames = frames
        self._told = 0
        self._first: Message | None = self._piece()

    async def next_message(self) -> Message:
        """The next piece."""
        first, self._first = self._first, None
        return first if first is not None else await asyncio.to_thread(self._piece)

    def _piece(self) -> Message:
        frames: list[bytes] = []
        kind, size = Kind.END, 0
        for frame in self._frames:
            frames.append(frame)
            size += len(frame)
            if size >= _PIECE_BYTES:
                kind = Kind.EVENTS
                break
        first, self._told = self._told, self._told + len(frames)
        return Message(kind, first, self._told, b"".join(frames))


class Awaited(Stored):
    """The stream of a response that nobody streams while it runs: all of it is told when it has ended."""

    def __init__(self, job: Job) -> None:
        self._job = job

    async def next_message(self) -> Message | None:
        """The whole stream; None after a while without its end. Raises `ProtocolError` 404 where none was stored."""
        ends_at = time.monotonic() + settings.KEEP_ALIVE_SECONDS
        while await _runs(self._job):
            if time.monotonic() > ends_at:
                return None
            await asyncio.sleep(_LOOK_SECONDS)
        return await _stored_rest(self._job, 0, b"")


def _find(tenant_id: uuid.UUID, response_id: str) -> Retold | Job:
    """The stream of a response that has ended, or the job of one that runs. Raises `ProtocolError` 404."""
    if not is_id(response_id):
        raise missing(response_id)
    running = _unfinished(tenant_id, response_id) or find_running(tenant_id, response_id)
    if running is not None:
        return running
    # What has ended between the looks has its row now.
    told = stream_of(tenant_id, response_id)
    if told is None:
        raise missing(response_id)
    return Retold(told)


def _unfinished(tenant_id: uuid.UUID, response_id: str) -> Job | None:
    """The job of a background response that runs. From now on it is known that somebody may have seen its stream."""
    with tenant_scope(tenant_id):
        rows = Response.objects.filter(id=response_id, status__in=UNFINISHED)
        row = rows.first()
        if row is None:
            return None
        if not row.is_followed:
            rows.update(is_followed=True)
        return job_of_row(row)


async def _runs(job: Job) -> bool:
    """Whether the response has still to end."""
    if job.is_background:
        return await in_database(_is_unfinished, uuid.UUID(job.tenant_id), job.response_id)
    return await in_database(find_running, uuid.UUID(job.tenant_id), job.response_id) is not None


async def _stored_rest(job: Job, told: int, last: bytes) -> Message | None:
    """What of an ended response's stream was not told. Raises `ProtocolError` 404 where it left nothing behind."""
    tenant_id = uuid.UUID(job.tenant_id)
    rest = await in_database(rest_of_stream, tenant_id, job.response_id, told, last)
    if rest is None and not told:
        raise missing(job.response_id)
    return rest


def _is_unfinished(tenant_id: uuid.UUID, response_id: str) -> bool:
    with tenant_scope(tenant_id):
        return bool(Response.objects.filter(id=response_id, status__in=UNFINISHED).exists())


def _padded(response_id: str, is_wanted: bool, message: Message) -> Message:
    """The message with its deltas padded, or without their padding."""
    if message.kind not in (Kind.EVENTS, Kind.END):
        return message
    frames = [with_padding(frame, response_id, is_wanted=is_wanted) for frame in frames_of(message.body)]
    return Message(message.kind, message.first, message.next, b"".join(frames))
