"""A stream that was read to its end: the answer's bytes, and what the checker of streams found in them."""

from dataclasses import dataclass

from responses_api.conformance.outcomes import Broken
from responses_api.conformance.shapes.events import event_faults
from responses_api.conformance.stream import Stream, check_sse
from responses_api.conformance.violations import Violation
from responses_api.conformance.wire import Answer
from responses_api.protocol.plain import Json


@dataclass(frozen=True, slots=True)
class Told:
    """One stream."""

    answer: Answer
    stream: Stream

    @property
    def events(self) -> list[Json]:
        """Its events, in the order they came."""
        return self.stream.events

    @property
    def types(self) -> list[str]:
        """The types of its events."""
        return [event["type"] for event in self.events]

    @property
    def final(self) -> Json:
        """The response of its terminal event. Raises `Broken` where there is none."""
        if self.stream.final is None:
            raise Broken("the stream has no terminal event")
        return self.stream.final

    def violations(self, rule: str, aspect: str | None = None) -> list[Violation]:
        """What breaks one of S1 to S9, or one aspect of it."""
        found = self.stream.violations
        return [one for one in found if one.rule == rule and aspect in (None, one.aspect)]


def read_told(answer: Answer) -> Told:
    """The stream in an answer. Raises `Broken` where the answer is no stream."""
    if answer.status != 200:
        raise Broken(f"a stream was asked for, and the answer is {answer.status}")
    return Told(answer, check_sse(answer.body, validate=event_faults))
