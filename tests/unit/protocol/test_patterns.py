"""Patterns of names: `*` for any characters, everything else for itself, in its own case."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.patterns import matches

LETTERS = st.text("ab*?[].\n", max_size=8)


@given(LETTERS, st.text("ab?[].\n", max_size=10))
def test_a_pattern_says_what_the_regular_expression_of_it_would(pattern: str, text: str) -> None:
    expression = ".*".join(map(re.escape, pattern.split("*")))
    assert matches(pattern, text) is bool(re.fullmatch(expression, text, re.DOTALL))


@pytest.mark.parametrize(
    ("pattern", "text", "is_met"),
    [
        ("mail", "mail", True),
        ("mail", "Mail", False),
        ("mail*", "mail", True),
        ("mail*", "mailbox", True),
        ("*mail", "email", True),
        ("a*a", "a", False),
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("m?il", "mail", False),
        ("[m]ail", "mail", False),
    ],
)
def test_only_a_star_stands_for_anything(pattern: str, text: str, is_met: bool) -> None:
    assert matches(pattern, text) is is_met


def test_no_pattern_takes_long() -> None:
    began = time.process_time()
    assert not matches("*a" * 100 + "b", "a" * 10_000)
    assert time.process_time() - began < 0.5
