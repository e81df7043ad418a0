"""Replay: what a streamed response has told so far, read back in order."""

from collections.abc import Iterable, Iterator
from typing import Any

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.eventlog.message import Message
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode, frames_to_data


def read(response_id: str) -> list[Message]:
    """All messages of the response's journal, oldest first; empty when there is none (any more)."""
    client: Any = blocking_client()
    return list(messages(client.xrange(names.journal(response_id))))


def read_events(response_id: str) -> list[Json]:
    """All events that were told of the response, oldest first."""
    return [decode(data) for message in read(response_id) for data in frames_to_data(message.body)]


def messages(entries: Iterable[tuple[Any, dict[bytes, bytes]]]) -> Iterator[Message]:
    """The messages of raw journal entries. One that was written twice (a write that was tried again) comes once."""
    told = 0
    for _, fields in entries:
        message = Message.from_bytes(fields[b"m"])
        if message.next > told or not message.next:  # an answer or a refusal has no numbers
            told = message.next
            yield message
