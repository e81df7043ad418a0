"""Answers that their upstream may pause: what they said goes back to it, and it says the rest."""

from typing import Protocol, runtime_checkable

from responses_api.protocol.plain import Json


@runtime_checkable
class PausingStream(Protocol):
    """An `AnswerStream` that can go on."""

    def resume(self, body: Json) -> Json | None:
        """After `close`: the body of the request that goes on, made of the last one, and this stream reads its answer,
        too. None where the answer has ended.
        """


def resumed(stream: object, body: Json) -> Json | None:
    """The body of the request that goes on with an answer; None where it has ended."""
    return stream.resume(body) if isinstance(stream, PausingStream) else None
