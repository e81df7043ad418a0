"""The kinds that a backend's row may name are those that the workers speak."""

from responses_api.models.backend import KINDS as ROW_KINDS
from workers.backends.registry import KINDS as SPOKEN_KINDS


def test_every_kind_of_a_backend_row_is_spoken_and_every_spoken_one_can_be_named() -> None:
    assert {kind for kind, _ in ROW_KINDS} == set(SPOKEN_KINDS)
