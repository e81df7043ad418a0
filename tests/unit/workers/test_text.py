"""Text that grows in pieces and stays text that can be stored and sent."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.wording import safe_text
from workers.backends.text import GrowingText

PIECES = st.lists(st.text(st.sampled_from("aé🌍\0\ud83d\ude00\udcaf"), max_size=4), max_size=6)


@given(PIECES)
def test_the_pieces_add_up_to_the_whole_and_to_what_the_text_is_at_once(pieces: list[str]) -> None:
    text = GrowingText()
    told = [orjson.loads(text.push(piece)) for piece in pieces]
    told.append(orjson.loads(text.flush()))
    assert "".join(told) == str(text) == safe_text("".join(pieces))


@given(PIECES)
def test_the_whole_can_be_encoded_and_holds_no_nul(pieces: list[str]) -> None:
    text = safe_text("".join(pieces))
    assert "\0" not in text
    assert text.encode().decode() == text
