"""What a backend's row may name is what the workers know."""

from responses_api.models.backend import KINDS as ROW_KINDS
from responses_api.models.backend import TOKEN_COUNTING
from workers.backends.counting import UPSTREAM_COUNTERS
from workers.backends.registry import KINDS as SPOKEN_KINDS


def test_every_kind_of_a_backend_row_is_spoken_and_every_spoken_one_can_be_named() -> None:
    assert {kind for kind, _ in ROW_KINDS} == set(SPOKEN_KINDS)


def test_every_way_to_count_tokens_is_known_and_every_known_one_can_be_named() -> None:
    assert {name for name, _ in TOKEN_COUNTING} == {"local", *UPSTREAM_COUNTERS}
