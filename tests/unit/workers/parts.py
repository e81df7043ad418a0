"""Parts of an answer, as adapters feed them, and the end of one that broke off."""

from responses_api.protocol.errors import model_error
from workers.backends.parts import CallDelta, TextDelta
from workers.emitter import Emitter


def text(value: str) -> TextDelta:
    """A piece of text."""
    return TextDelta("content", value)


def call(key: int, call_id: str | None, name: str | None, arguments: str = "") -> CallDelta:
    """A piece of a call."""
    return CallDelta(key, call_id, name, arguments)


def fail(emitter: Emitter) -> None:
    """An end that is a failure."""
    emitter.fail(model_error("It broke."))
