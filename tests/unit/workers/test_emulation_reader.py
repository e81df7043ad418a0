"""Turns read while they come: what a model writes becomes text and calls, wherever the pieces are cut."""

from collections.abc import Iterable
from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.backends.emulation.reader import TurnReader
from workers.backends.parts import CallDelta, Part, TextDelta

Said = list[tuple[str, ...]]

TURNS: dict[str, Said] = {
    '{"answer": "Hi \\u00e9\\ud83d\\ude00\\n\\"you\\""}': [("text", 'Hi é😀\n"you"')],
    '{"answer": ""}': [],
    '{ "tool" : "look",\n "arguments" : {"at": "}\\"{[", "n": [1, {}]} }': [
        ("call", "look", '{"at": "}\\"{[", "n": [1, {}]}')
    ],
    '{"tool":"a","arguments":{},"also":[{"tool":"b","arguments":{"x":1}},{"tool":"a","arguments":{}}]}': [
        ("call", "a", "{}"),
        ("call", "b", '{"x":1}'),
        ("call", "a", "{}"),
    ],
}
"""What the schema lets a model write."""

BROKEN: dict[str, Said] = {
    "Just words.": [("text", "Just words.")],
    " \n words": [("text", " \n words")],
    'Sure! {"tool":"a","arguments":{}}\nDone.': [
        ("text", "Sure! "),
        ("call", "a", "{}"),
        ("text", "\nDone."),
    ],
    'So:\n```json\n{"answer": "x"}\n```\n': [("text", "So:\n"), ("text", "x")],
    '{"x": {"answer": 1}}': [("text", '{"x": {"answer": 1}}')],
    '[{"answer": 1}]': [("text", '[{"answer": 1}]')],
    '{"tool":"a","arguments":{},"also":[{"tool":"b"}, \u00a0, "no call"]}': [
        ("call", "a", "{}"),
        ("call", "b", ""),
        ("text", '"no call"]}'),
    ],
    'Use `look` or {"answer-me": 1}': [("text", 'Use `look` or {"answer-me": 1}')],
    '```py\nprint({"answer": 1})\n```': [("text", '```py\nprint({"answer": 1})\n```')],
    '{"tool":"a","arguments":null}\n{"tool":"b","arguments":{}}': [("call", "a", ""), ("call", "b", "{}")],
    '{"tool":"a","arguments":"{\\"x\\": \\"\\\\n\\"}"}': [("call", "a", '{"x": "\\n"}')],
    '{"arguments":{"x":1},"tool":"late"}': [("call", "late", '{"x":1}')],
    '{"answer":"He said "no" to it, twice"}': [("text", 'He said "no" to it, twice')],
    '{"answer": {"a": 1}, "tool": "a"}': [("text", '{"a": 1}'), ("call", "a", "")],
    '{"answer": "a", "note": "b", "rest": [1]}': [("text", "a"), ("text", "b"), ("text", "[1]")],
    '{"answer": "a"}}': [("text", "a}")],
    '{"answer": "a",': [("text", "a")],
    '{"answer": "a\\u12zz \\x \\ud83d-"}': [("text", "a\\u12zz \\x \ufffd-")],
    '{"answer": "half': [("text", "half")],
    '{"tool":"a","arguments":{"x": "ha': [("call", "a", '{"x": "ha')],
    '{"tool":"a","arguments":{}  x': [("call", "a", "{}"), ("text", "  x")],
    '{"tool":"loo': [("call", "", "")],
    '{"ans': [("text", '{"ans')],
}
"""What models write whose servers hold them to nothing."""


def read(pieces: Iterable[str], *, is_cut: bool = False, is_json: bool = False) -> list[Part]:
    reader = TurnReader(lambda number: f"call_{number}", is_json=is_json)
    parts = [part for piece in pieces for part in reader.feed(piece)]
    return parts + reader.close(is_cut=is_cut)


def said(parts: Iterable[Part]) -> Said:
    """Texts and calls, each as one, in the order in which they began."""
    whole: dict[object, tuple[str, ...]] = {}
    for part in parts:
        if isinstance(part, TextDelta):
            before = whole.get(part.key, ("text", ""))
            whole[part.key] = ("text", before[1] + part.text)
        elif isinstance(part, CallDelta):
            before = whole.get(part.key, ("call", "", ""))
            whole[part.key] = ("call", before[1] + (part.name or ""), before[2] + part.arguments)
    return list(whole.values())


@pytest.mark.parametrize(("turn", "expected"), [*TURNS.items(), *BROKEN.items()])
def test_what_a_model_writes_is_told_and_nothing_is_lost(turn: str, expected: Said) -> None:
    assert said(read([turn])) == expected


@pytest.mark.parametrize("turn", [*TURNS, *BROKEN])
def test_it_is_the_same_wherever_it_is_cut(turn: str) -> None:
    whole = said(read([turn]))
    assert said(read(turn)) == whole
    for at in range(len(turn)):
        assert said(read([turn[:at], turn[at:]])) == whole, f"cut at {at}"


@given(st.data())
def test_any_answer_and_any_arguments_come_as_they_were_written(data: st.DataObject) -> None:
    answer = data.draw(st.text(st.characters(exclude_categories=["Cs"])))
    arguments = data.draw(st.dictionaries(st.text(max_size=4), st.text(max_size=9) | st.integers(0, 99)))
    told = orjson.dumps(arguments).decode()
    written = orjson.dumps(answer).decode()
    escaped = '"' + "".join(f"\\u{unit:04x}" for unit in units(answer)) + '"'
    for turn, expected in (
        (f'{{"answer": {written}}}', [("text", answer)] if answer else []),
        (f'{{"answer": {escaped}}}', [("text", answer)] if answer else []),
        (f'{{"tool": "look", "arguments": {told}}}', [("call", "look", told)]),
    ):
        places = data.draw(st.lists(st.integers(0, len(turn)), max_size=6).map(sorted))
        assert said(read(cut(turn, places))) == expected


@given(st.text(alphabet='{}[]",:\\` \nu0dantolswer'), st.lists(st.integers(0, 40), max_size=5).map(sorted))
def test_no_text_breaks_it_and_no_cut_changes_it(text: str, places: list[int]) -> None:
    assert said(read(cut(text, places))) == said(read([text]))


FRAGMENTS = [
    *(
        '{"answer": "',
        '{"tool": "',
        '", "arguments": {"a": [',
        '"}',
        "]}}",
        '", "also": [{"tool": "b"}]}',
        '"',
        "}",
    ),
    *(
        "```json\n",
        "```",
        "`",
        "[1] ",
        "{",
        "\n",
        "words ",
        "\\u00",
        "\\ud83d",
        "\\",
        ", ",
        '"note": ',
        "null",
        "  ",
    ),
]


@given(
    st.lists(st.sampled_from(FRAGMENTS), max_size=12), st.lists(st.integers(0, 120), max_size=8).map(sorted)
)
def test_turns_in_pieces_and_out_of_order_are_the_same_wherever_they_are_cut(
    fragments: list[str], places: list[int]
) -> None:
    text = "".join(fragments)
    for is_cut in (True, False):
        assert said(read(cut(text, places), is_cut=is_cut)) == said(read([text], is_cut=is_cut))


def test_an_answer_is_told_while_it_comes() -> None:
    reader = TurnReader(lambda number: f"call_{number}")
    told = [reader.feed(piece) for piece in ('{"answ', 'er": "On', "ce upon", ' a time"}')]
    assert [[part.text for part in parts if isinstance(part, TextDelta)] for parts in told] == [
        [],
        ["On"],
        ["ce upon"],
        [" a time"],
    ]


def test_a_call_is_named_as_soon_as_its_name_is_whole_and_its_arguments_follow_as_they_come() -> None:
    reader = TurnReader(lambda number: f"call_{number}")
    told = [reader.feed(piece) for piece in ('{"tool": "lo', 'ok"', ', "arguments": {"at"', ': "sea"}}')]
    key = ("call of a turn", 0)
    assert told == [
        [],
        [CallDelta(key, "call_0", "look", "")],
        [CallDelta(key, "call_0", None, '{"at"')],
        [CallDelta(key, "call_0", None, ': "sea"}')],
    ]


@pytest.mark.parametrize("turn", ['{"ans', '```json\n{"', '{"answer": "a", "no', '{"answer": "a\\u12'])
def test_half_of_a_mark_is_no_text_where_the_model_was_cut_off(turn: str) -> None:
    assert said(read([turn], is_cut=True)) == ([("text", "a")] if "a" in turn[5:] and ": " in turn else [])


def test_json_of_the_requests_own_is_told_as_it_is_written() -> None:
    assert said(read(['{"answer": {"city": "Oslo"}}'], is_json=True)) == [("text", '{"city": "Oslo"}')]
    assert said(read(['{"answer": "Oslo"}'], is_json=True)) == [("text", '"Oslo"')]


def cut(text: str, places: Iterable[int]) -> list[str]:
    bounds = [0, *(min(place, len(text)) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


def units(text: str) -> list[int]:
    raw = text.encode("utf-16-be")
    return [int.from_bytes(raw[at : at + 2]) for at in range(0, len(raw), 2)]
