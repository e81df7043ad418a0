"""A conversation as text, and in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.plain import Json
from workers.transcript import Cutter, transcript


def message(role: str, *parts: Json) -> Json:
    return {"type": "message", "role": role, "content": list(parts)}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (message("user", {"type": "input_text", "text": "Hi"}), "[user]\nHi"),
        (message("assistant", {"type": "refusal", "refusal": "No."}), "[assistant]\n(refuses) No."),
        (
            message("user", {"type": "input_file", "file_url": "https://a/b.pdf"}),
            "[user]\n(a file, without a name: https://a/b.pdf)",
        ),
        (
            message("user", {"type": "input_file", "filename": "a.pdf", "file_data": "x" * 1234}),
            "[user]\n(a file, a.pdf: 1,234 characters of data)",
        ),
        (
            message("user", {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}),
            "[user]\n(an image: image/png, 26 characters of data)",
        ),
        (message("user", {"type": "acme:map", "at": 1}), '[user]\n(acme:map) {"type":"acme:map","at":1}'),
        (
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a":1}'},
            '[assistant calls look, c1]\n{"a":1}',
        ),
        ({"type": "function_call_output", "call_id": "c1", "output": "4C"}, "[output of c1]\n4C"),
        ({"type": "acme:note", "text": "x"}, '[acme:note]\n{"type":"acme:note","text":"x"}'),
    ],
)
def test_an_entry_says_who_and_what(item: Json, expected: str) -> None:
    assert transcript([item]) == [expected]


def test_reasoning_is_left_out() -> None:
    assert transcript([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]}]) == []


def pieces(entries: list[str], most: int) -> list[str]:
    cutter, found = Cutter(entries), []
    while not cutter.is_empty:
        found.append(cutter.peek(most))
        cutter.take(found[-1])
    return found


def test_pieces_end_between_entries_where_that_is_possible() -> None:
    assert pieces(["aaaa", "bbbb", "cccc"], 11) == ["aaaa\n\nbbbb", "cccc"]
    assert pieces(["aaaa", "b" * 12], 8) == ["aaaa", "b" * 8, "b" * 4]
    assert pieces([], 8) == []


@given(st.lists(st.text(alphabet="ab\n", max_size=12)), st.integers(1, 9))
def test_nothing_is_lost_between_pieces(entries: list[str], most: int) -> None:
    found = pieces(entries, most)
    assert all(len(piece) <= most for piece in found)
    assert "".join(found).replace("\n", "") == "".join(entries).replace("\n", "")
