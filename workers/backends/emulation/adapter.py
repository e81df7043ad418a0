"""Tools put around an adapter whose models have none: the job in words, and its answer read as a turn."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Final

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from workers.backends.answer import AnswerStream
from workers.backends.emulation.job import emulated, heard, takes_turns, wants_json
from workers.backends.emulation.reader import TurnReader
from workers.backends.parts import Part, Stop, TextDelta
from workers.backends.pausing import resumed

_PLACE: Final = re.compile(r"input\[(\d+)\]")


def build(make: Callable[[Job], Json], job: Job) -> Json:
    """The body that the wrapped `make` makes of a job without tools. Raises `ProtocolError` 400, as that does."""
    told = emulated(job)
    try:
        return make(told.job)
    except ProtocolError as error:
        raise _at_its_place(error, told.places) from None


def open_stream(read: Callable[[Job], AnswerStream], job: Job) -> AnswerStream:
    """What reads the answer to that body."""
    answer = read(heard(job))
    if not takes_turns(job):
        return answer
    return _Turns(answer, TurnReader(partial(_call_id, job.response_id), is_json=wants_json(job)))


class _Turns:
    """The parts of an answer, its text read as turns."""

    def __init__(self, answer: AnswerStream, reader: TurnReader) -> None:
        self._answer = answer
        self._reader = reader

    @property
    def finished(self) -> bool:
        """Nothing more of use will come."""
        return self._answer.finished

    def feed(self, chunk: bytes) -> list[Part]:
        """The parts that this chunk completes."""
        return self._read(self._answer.feed(chunk))

    def close(self) -> list[Part]:
        """The rest of the answer, or what was wrong with it."""
        return self._read(self._answer.close())

    def resume(self, body: Json) -> Json | None:
        """The request that goes on with a paused answer."""
        return resumed(self._answer, body)

    def _read(self, parts: Sequence[Part]) -> list[Part]:
        told: list[Part] = []
        for part in parts:
            if isinstance(part, TextDelta):
                told += self._reader.feed(part.text)
            elif isinstance(part, Stop):
                told += self._reader.close(is_cut=part.is_cut_short)
                is_call = self._reader.has_called and part.reason == "stop"
                told.append(Stop("tool_calls") if is_call else part)
            else:
                told.append(part)
        return told


def _call_id(response_id: str, number: int) -> str:
    """The id of a call: as hard to guess as the response's, and the same in a second attempt."""
    return f"call_{sha256(f'{response_id}/{number}'.encode()).hexdigest()[:32]}"


def _at_its_place(error: ProtocolError, places: Sequence[int]) -> ProtocolError:
    """The error, naming the item where its client finds it."""

    def place(found: re.Match[str]) -> str:
        at = int(found[1])
        return f"input[{places[at] if at < len(places) else at}]"

    if error.param:
        error.param = _PLACE.sub(place, error.param, count=1)
    return error
