"""Text that may turn out to be beside the answer, where a tool takes the answer.

A server that does not make its model call a tool answers in plain text, which nothing held to the schema: that is a
failure, however much it may look like JSON. Nobody gets prose for JSON in silence.
"""

from collections.abc import Hashable

from responses_api.protocol.errors import model_error
from workers.backends.parts import CallDelta, Part, StopReason, TextDelta


class HeldText:
    """The text of an answer until it is known what it is."""

    def __init__(self) -> None:
        self._answers: set[Hashable] = set()
        self._held: list[Part] = []

    def answered(self, key: Hashable) -> None:
        """The parts of this key are the answer."""
        self._answers.add(key)

    def hold(self, parts: list[Part]) -> list[Part]:
        """The parts without such text; what was said before a function is called passes with the call."""
        passed: list[Part] = []
        for part in parts:
            if isinstance(part, TextDelta) and part.key not in self._answers:
                self._held.append(part)
                continue
            if isinstance(part, CallDelta):
                passed += self._held
                self._held = []
            passed.append(part)
        return passed

    def rest(self, reason: StopReason) -> list[Part]:
        """What is still held at the end and is to be told. Raises `ProtocolError` where it stands for the answer."""
        if self._answers or not self._held:
            return []
        if reason != "content_filter":
            raise model_error(
                "The model's answer has not the form that 'text.format' asks for: its backend did not hold it to that."
            )
        return self._held
