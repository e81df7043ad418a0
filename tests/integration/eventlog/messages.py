"""Messages of made-up responses, and how they are told and heard."""

import uuid

from responses_api.eventlog.follow import Follower
from responses_api.eventlog.message import LAST, Kind, Message
from responses_api.eventlog.publish import Address
from responses_api.protocol.sse import encode, frame


def new_response() -> str:
    """An id that no other test has."""
    return f"resp_{uuid.uuid4().hex}"


def event(number: int) -> bytes:
    """The frame of one event."""
    return frame("x", encode({"type": "x", "sequence_number": number}))


def told(first: int, count: int = 1, kind: Kind = Kind.EVENTS) -> Message:
    """A message of `count` events from `first` on."""
    body = b"".join(event(number) for number in range(first, first + count))
    return Message(kind, first, first + count, body)


def address(
    response_id: str,
    inbox: str | None,
    *,
    journal: bool = True,
    keep_journal: bool = True,
    worker: str = "test:nobody",
) -> Address:
    """Where the messages of a response go."""
    return Address(
        response_id=response_id, worker=worker, inbox=inbox, journal=journal, keep_journal=keep_journal
    )


async def hear(follower: Follower, timeout: float = 5.0) -> list[Message]:
    """Everything that a follower gets, to the last message. TimeoutError when it does not come."""
    heard: list[Message] = []
    while not heard or heard[-1].kind not in LAST:
        message = await follower.next_message(timeout)
        if message is None:
            raise TimeoutError(f"no message within {timeout} s after {heard}")
        heard.append(message)
    return heard
