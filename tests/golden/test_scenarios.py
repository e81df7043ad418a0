"""Every scenario: the exact events, the rules of streams, and no difference wherever the bytes are cut."""

import pytest

from responses_api.conformance.stream import assert_stream
from responses_api.protocol.sse import frames_to_data
from tests.golden.play import events_path, parts_of, play, scenarios, upstream_bytes
from tests.support.oracle import event_faults

every_scenario = pytest.mark.parametrize("scenario", scenarios())


@every_scenario
def test_it_becomes_exactly_these_events(scenario: str) -> None:
    expected = events_path(scenario).read_bytes().splitlines()
    assert list(frames_to_data(play(scenario))) == expected


@every_scenario
def test_it_keeps_the_rules_of_streams(scenario: str) -> None:
    assert_stream(play(scenario), validate=event_faults)


@every_scenario
def test_it_is_the_same_byte_by_byte(scenario: str) -> None:
    body = upstream_bytes(scenario)
    assert outcome(scenario, [body[at : at + 1] for at in range(len(body))]) == outcome(scenario, [body])


@every_scenario
def test_it_is_the_same_cut_at_every_offset(scenario: str) -> None:
    body = upstream_bytes(scenario)
    whole = outcome(scenario, [body])
    for at in range(len(body)):
        assert outcome(scenario, [body[:at], body[at:]]) == whole, f"cut at {at}"


def outcome(scenario: str, chunks: list[bytes]) -> tuple[object, object]:
    parts, error = parts_of(scenario, chunks)
    return parts, error and error.to_plain()
