"""Replay: what a streamed response has told so far, read back in order."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import structlog
from redis.exceptions import RedisError

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.eventlog.message import Message
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode, frames_to_data

log = structlog.get_logger(__name__)


def read(response_id: str) -> list[Message]:
    """All messages of the response's journal, oldest first; empty when there is none (any more)."""
    client: Any = blocking_client()
    return list(messages(client.xrange(names.journal(response_id))))


def read_events(response_id: str) -> list[Json]:
    """All events that were told of the response, oldest first."""
    return [decode(data) for message in read(response_id) for data in frames_to_data(message.body)]


def drop(response_id: str) -> None:
    """Nothing of a response that was deleted is told any more. Where Valkey is away its journal expires by itself."""
    try:
        blocking_client().delete(names.journal(response_id))
    except (RedisError, OSError) as error:
        log.warning("a journal could not be deleted; it expires by itself", error=type(error).__name__)


def drop_all(response_ids: Sequence[str]) -> None:
    """As `drop`, of many at once."""
    if not response_ids:
        return
    try:
        blocking_client().delete(*map(names.journal, response_ids))
    except (RedisError, OSError) as error:
        log.warning("journals could not be deleted; they expire by themselves", error=type(error).__name__)


def messages(entries: Iterable[tuple[Any, dict[bytes, bytes]]]) -> Iterator[Message]:
    """The messages of raw journal entries. One that was written twice (a write that was tried again) comes once."""
    told = 0
    for _, fields in entries:
        message = Message.from_bytes(fields[b"m"])
        if message.next > told or not message.next:  # an answer or a refusal has no numbers
            told = message.next
            yield message
