"""Padding hides the size of what it pads."""

import re

import pytest

from responses_api.protocol.obfuscation import padding


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1_000])
def test_events_of_a_block_have_one_size_and_an_addition_that_nobody_can_tell(size: int) -> None:
    sizes = {size + len(padding("resp_1", number, size)) for number in range(1_000)}
    whole = -(-size // 16) * 16
    assert sizes == set(range(whole, whole + 32))


def test_an_event_that_is_told_again_has_the_same_padding() -> None:
    assert padding("resp_1", 7, 100) == padding("resp_1", 7, 100)


def test_no_two_events_share_theirs_and_none_needs_an_escape() -> None:
    made = [padding(response, number, 1) for response in ("resp_1", "resp_2") for number in range(500)]
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{15,46}", text) for text in made)
