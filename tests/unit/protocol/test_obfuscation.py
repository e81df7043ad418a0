"""Padding hides the size of what it pads."""

import re

import pytest

from responses_api.protocol.obfuscation import padding


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1_000])
def test_events_of_a_block_have_one_size_and_a_random_addition(size: int) -> None:
    draws = [bytes([first]).__mul__ for first in range(256)]
    sizes = {size + len(padding(size, draw)) for draw in draws}
    whole = -(-size // 16) * 16
    assert sizes == set(range(whole, whole + 32))


def test_the_characters_come_from_the_entropy_and_need_no_escape() -> None:
    first = padding(1, lambda count: bytes([31]) + b"\xff" * (count - 1))
    second = padding(1, lambda count: bytes([31]) + b"\x00" * (count - 1))
    assert first != second
    assert re.fullmatch(r"[A-Za-z0-9_-]{46}", first)
