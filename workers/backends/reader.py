"""Reading an answer's bytes as JSON objects, where they come as server-sent events or as one body.

What is the same in every such format stands here; each says what its objects mean.
"""

from abc import ABC, abstractmethod

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import SseEvent
from workers.backends.errors import cut_in_event, cut_off
from workers.backends.parts import Part
from workers.backends.values import parse_object
from workers.backends.wire import AnswerBytes


class AnswerReader(ABC):
    """One answer from its bytes, cut anywhere; an `answer.AnswerStream`, but for its `close`.

    `feed` returns the parts that a chunk completes and never raises: what went wrong is raised by the end, after the
    parts before it, so that the chunk boundaries change nothing. Data that is not a JSON object is a keep-alive, unless
    it begins like one: then it is a broken object.
    """

    def __init__(self) -> None:
        self.finished = False
        self._bytes = AnswerBytes()
        self._failure: ProtocolError | None = None

    def feed(self, chunk: bytes) -> list[Part]:
        """The parts that this chunk completes."""
        return [] if self.finished else self._read_events(self._bytes.feed(chunk))

    @abstractmethod
    def _read_object(self, name: str | None, told: Json, parts: list[Part]) -> None:
        """Read the data of an event of this name."""

    @abstractmethod
    def _read_whole(self, body: Json, parts: list[Part]) -> None:
        """Read an answer that came as one JSON body, although a stream was asked for."""

    def _read_word(self, word: str) -> None:
        """Read data that is no object: in most formats a keep-alive."""
        return

    def _read_rest(self) -> list[Part]:
        """The parts that the end of the bytes completes. Raises `ProtocolError` where the answer failed."""
        parts: list[Part] = []
        if self._bytes.is_body:
            self._read_body(parts)
        elif not self.finished:
            parts = self._read_events(self._bytes.close())
        self.finished = True
        self._check()
        return parts

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _read_events(self, events: list[SseEvent]) -> list[Part]:
        parts: list[Part] = []
        for event in events:
            if self.finished:
                break
            self._read_event(event, parts)
        return parts

    def _read_event(self, event: SseEvent, parts: list[Part]) -> None:
        data = event.data
        if not data.startswith("{"):
            data = data.strip()
            if not data.startswith("{"):
                self._read_word(data)
                return
        try:
            told = parse_object(data)
        except ValueError:
            self._fail(cut_in_event())
            return
        self._read_object(event.event, told, parts)

    def _read_body(self, parts: list[Part]) -> None:
        try:
            body = parse_object(self._bytes.body())
        except ValueError:
            self._fail(cut_off())
            return
        self._read_whole(body, parts)

    def _fail(self, failure: ProtocolError) -> None:
        self._failure = self._failure or failure
        self.finished = True
