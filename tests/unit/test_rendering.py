"""The headers of an error, whatever an upstream said."""

import math

import pytest

from responses_api.protocol.errors import too_many_requests


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "1"), (41.0, "41"), (-3.0, "0"), (1e300, "86400"), (math.inf, "86400"), (math.nan, "0")],
)
def test_a_wait_is_told_in_whole_seconds_of_a_day_at_most(seconds: float, told: str) -> None:
    assert too_many_requests("m", retry_after=seconds).headers() == {"Retry-After": told}
