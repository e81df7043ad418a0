"""Every scenario of a backend whose reasoning is withheld: a stream by the rules, and what goes back stays."""

import pytest

from responses_api.conformance.stream import assert_stream
from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.sse import DONE, decode, frames_to_data
from tests.golden.play import parts_of, scenarios, upstream_bytes
from tests.support.oracle import event_faults
from tests.unit.workers.builders import base_snapshot, counting_ids, make_job
from workers.backends.parts import Part, ReasoningDelta, StateReport, SummaryDelta
from workers.backends.withholding import as_shown
from workers.emitter import Emitter

TOLD = {"summary": (SummaryDelta,), "none": ()}


class Said:
    """An answer that was read before, as the reader of it."""

    finished = True

    def __init__(self, parts: list[Part]) -> None:
        self._parts = parts

    def feed(self, chunk: bytes) -> list[Part]:
        return self._parts

    def close(self) -> list[Part]:
        return []


def shown(parts: list[Part], reasoning: str) -> list[Part]:
    row = BackendSpec.from_plain({**make_job().backend, "reasoning": reasoning})
    return as_shown(Said(parts), row).feed(b"")


def stream_of(parts: list[Part], error: ProtocolError | None) -> bytes:
    emitter = Emitter(
        base_snapshot(include=["reasoning.encrypted_content"]),
        new_id=counting_ids(),
        clock=lambda: 1_750_000_009,
        seal=lambda item_type, content: f"{item_type}: {content}",
        include=["reasoning.encrypted_content"],
    )
    emitter.start()
    for part in parts:
        emitter.feed(part)
    if error is None:
        emitter.finish()
    else:
        emitter.fail(error)
    return emitter.drain() + emitter.terminal() + DONE


@pytest.mark.parametrize("reasoning", sorted(TOLD))
@pytest.mark.parametrize("scenario", scenarios())
def test_what_is_withheld_is_told_nowhere_and_what_goes_back_stays(scenario: str, reasoning: str) -> None:
    parts, error = parts_of(scenario, [upstream_bytes(scenario)])
    left = shown(parts, reasoning)
    assert [part for part in left if isinstance(part, StateReport)] == [
        part for part in parts if isinstance(part, StateReport)
    ]
    stream = stream_of(left, error)
    assert_stream(stream, validate=event_faults)
    told = {event["type"] for data in frames_to_data(stream) for event in [decode(data)]}
    thoughts = {type(part) for part in parts} & {ReasoningDelta, SummaryDelta}
    assert {type(part) for part in left} & {ReasoningDelta, SummaryDelta} == thoughts & set(TOLD[reasoning])
    assert "response.reasoning.delta" not in told
