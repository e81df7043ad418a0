"""Any prefix of any stream can be closed so that, ended as failed, it keeps every invariant."""

import pytest

from responses_api.conformance.stream import check_events
from responses_api.protocol import event_types, events
from responses_api.protocol.closing import closing
from responses_api.protocol.fold import fold
from responses_api.protocol.plain import Json
from tests.support.oracle import event_faults
from tests.unit.conformance.streams import GOOD, numbered

ERROR: Json = {"type": "server_error", "code": "worker_lost", "message": "Lost.", "param": None}


def last_snapshot(told: list[Json]) -> Json:
    so_far = fold(told)
    assert so_far is not None
    return {**so_far, "status": "failed", "error": {"code": "worker_lost", "message": "Lost."}}


@pytest.mark.parametrize("name", GOOD)
def test_every_prefix_can_be_ended_by_the_rules(name: str) -> None:
    stream = GOOD[name]
    dialect: event_types.Dialect = "openai" if name.startswith("openai") else "open"
    ends = [
        place for place, event in enumerate(stream) if event["type"] in ("error", *event_types.TERMINAL_TYPES)
    ]
    for length in range(3 if name == "everything" else 2, ends[0] + 1):
        told = stream[:length]
        final = last_snapshot(told)
        whole = [*told, *closing(told, dialect), events.error(ERROR), events.terminal(final)]
        assert check_events(numbered(whole), validate=event_faults) == [], length


@pytest.mark.parametrize("name", GOOD)
def test_a_whole_stream_has_nothing_to_close(name: str) -> None:
    assert closing(GOOD[name], "open") == []


def test_a_stream_that_never_began_has_nothing_to_close() -> None:
    assert closing([], "open") == []
