"""What others wrote, as we store it and as we quote it."""

import pytest

from responses_api.protocol.wording import quoted, safe_text


@pytest.mark.parametrize(
    ("text", "safe"),
    [("plain é🌍", "plain é🌍"), ("a\0b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("\ud83d!", "\ufffd!")],
)
def test_what_cannot_be_stored_is_replaced(text: str, safe: str) -> None:
    assert safe_text(text) == safe


def test_a_quotation_is_short_and_printable() -> None:
    assert quoted("look up") == "look up"
    assert quoted("x" * 64) == "x" * 64
    assert quoted("x" * 65) == "x" * 63 + "…"
    assert quoted("a\nb\u2028\x1b\ud800\0") == "a" + "\ufffd" + "b" + "\ufffd" * 4
