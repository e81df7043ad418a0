"""One planted fault: which calls it concerns, and what it does to them on their way."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from responses_api.protocol.plain import Json


def _object_in(raw: bytes) -> Json:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class Call:
    """An HTTP call on its way to the service. `path` is below the base URL, with its query."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Json:
        """The JSON object of the body; empty where there is none."""
        return _object_in(self.raw)

    @property
    def is_create(self) -> bool:
        """Whether it asks for a response."""
        return self.method == "POST" and self.path == "/responses"

    def with_body(self, body: Any) -> "Call":
        """The same call with another body."""
        return replace(self, raw=json.dumps(body).encode())


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is no stream, on its way back."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Json:
        """The JSON object of the body; empty where there is none."""
        return _object_in(self.raw)

    def with_body(self, body: Any) -> "Reply":
        """The same answer with another body."""
        return replace(self, raw=json.dumps(body).encode())


@dataclass(frozen=True, slots=True)
class Fault:
    """What is done to the calls that it concerns; the rules that must fail, and they alone.

    `events` changes the events of a stream, which are numbered anew, also when it is told again; `frames` the bytes of
    its writes, `stream_type` their Content-Type; `response` each resource outside of a stream, when it is made and when
    it is retrieved; `reply` any answer; `message` what a client says on a WebSocket, `turn` what comes for it.
    """

    name: str
    rules: tuple[str, ...]
    concerns: Callable[[Call], bool] = lambda call: True
    call: Callable[[Call], Call] | None = None
    reply: Callable[[Reply], Reply] | None = None
    response: Callable[[Json], Json] | None = None
    events: Callable[[list[Json]], list[Json]] | None = None
    is_renumbered: bool = True
    frames: Callable[[list[bytes]], list[bytes]] | None = None
    stream_type: str | None = None
    message: Callable[[str], str] | None = None
    turn: Callable[[list[str]], list[str]] | None = None
    fresh: Callable[[], "Fault"] | None = None
    """What makes the fault of one WebSocket, where it remembers what it has seen."""
    ids: set[str] = field(default_factory=set)
    """The responses that were made by calls it concerns."""

    def __str__(self) -> str:
        return self.name
