"""The kinds of backends, as data.

A compatible server needs no code: its row in the database names one of these kinds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from workers.backends.chat_completions import reading as chat_reading
from workers.backends.chat_completions import request as chat_request
from workers.backends.chat_completions.stream import ChatStream
from workers.backends.counting import Reading
from workers.backends.parts import Part


class AnswerStream(Protocol):
    """Reads one answer. `feed` never raises; `close` returns the rest or raises `ProtocolError`."""

    finished: bool
    """Nothing more of use will come, although the connection may stay open."""

    def feed(self, chunk: bytes) -> list[Part]:
        """The parts that this chunk completes."""

    def close(self) -> list[Part]:
        """The rest of the answer, or what was wrong with it."""


def bearer(key: str) -> dict[str, str]:
    """The credential as most vendors want it."""
    return {"Authorization": f"Bearer {key}"}


@dataclass(frozen=True, slots=True)
class Adapter:
    """How one kind is spoken to: the path under the base URL, and what differs.

    `read` says what a model reads of a body that `build` made.
    """

    path: str
    build: Callable[[Job], Json]
    open_stream: Callable[[], AnswerStream]
    auth: Callable[[str], dict[str, str]]
    read: Callable[[Json], Reading]


KINDS: dict[str, Adapter] = {
    "chat_completions": Adapter(
        path="/chat/completions",
        build=chat_request.build,
        open_stream=ChatStream,
        auth=bearer,
        read=chat_reading.read,
    ),
    # OpenAI's reasoning models refuse the old name of the token limit, everybody else knows only that. It refuses every
    # field that it does not know.
    "openai_chat_completions": Adapter(
        path="/chat/completions",
        build=partial(chat_request.build, token_limit_field="max_completion_tokens", with_state=False),
        open_stream=ChatStream,
        auth=bearer,
        read=chat_reading.read,
    ),
}


def adapter_for(kind: str) -> Adapter:
    """The adapter of a kind. Raises LookupError naming the known ones: a backend's row is wrong."""
    try:
        return KINDS[kind]
    except KeyError:
        raise LookupError(f"unknown backend kind '{kind}'; known: {', '.join(sorted(KINDS))}") from None
