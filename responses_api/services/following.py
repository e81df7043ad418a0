"""Follow: the stream of a response again, or from where a client had come to, in whichever web process it asks."""

import uuid
from functools import partial
from typing import Final

import structlog
from redis.exceptions import RedisError

from responses_api.eventlog.message import LAST, Kind, Message
from responses_api.eventlog.tail import process_tail
from responses_api.models import Response
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError, server_error
from responses_api.protocol.job import Job
from responses_api.services.database import in_database
from responses_api.services.listening import Ear, Listener
from tenants.scoping import tenant_scope

log = structlog.get_logger(__name__)

_AWAY: Final = server_error(
    "The event log does not answer at the moment; try again.", code="overloaded", status=503, retry_after=1
)
_FRAME_END: Final = b"\n\n"


class Resumed:
    """An ear that hears nothing up to the event of this number."""

    def __init__(self, ear: Ear, starting_after: int) -> None:
        self._ear = ear
        self._after = starting_after
        self.is_resumable = ear.is_resumable

    async def next_message(self) -> Message | None:
        """The next message that has events beyond the place, or that is the last."""
        while True:
            message = await self._ear.next_message()
            if message is None:
                return None
            rest = after(message, self._after)
            if rest.body or rest.kind in LAST:
                return rest

    def break_off(self, error: ProtocolError) -> Message:
        """The end of a stream that has begun and cannot go on here."""
        return after(self._ear.break_off(error), self._after)

    async def close(self) -> None:
        """Stop listening."""
        await self._ear.close()


def after(message: Message, number: int) -> Message:
    """The message without its events up to `number`."""
    if message.first > number or message.kind not in (Kind.EVENTS, Kind.END):
        return message
    frames = message.body.split(_FRAME_END)[:-1][number + 1 - message.first :]
    body = b"".join(frame + _FRAME_END for frame in frames)
    return Message(message.kind, min(number + 1, message.next), message.next, body)


async def follow_running(job: Job, starting_after: int | None) -> Ear:
    """The stream of a background response that has not ended. Raises `ProtocolError` 503."""
    tenant_id = uuid.UUID(job.tenant_id)

    async def runs() -> bool:
        return await in_database(partial(_is_unfinished, tenant_id, job.response_id))

    try:
        reader = await process_tail().follow(job.response_id, runs)
    except (RedisError, OSError) as error:
        log.error("Valkey does not answer", error=type(error).__name__)
        raise _AWAY from error
    listener = Listener(reader, job.dialect, is_resumable=True)
    return listener if starting_after is None else Resumed(listener, starting_after)


def _is_unfinished(tenant_id: uuid.UUID, response_id: str) -> bool:
    with tenant_scope(tenant_id):
        return bool(Response.objects.filter(id=response_id, status__in=UNFINISHED).exists())
