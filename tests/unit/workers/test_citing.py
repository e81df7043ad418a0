"""Marks in a model's words become annotations of its text."""

from typing import Any

import pytest

from responses_api.protocol import file_search
from responses_api.protocol.plain import Json
from workers.backends.parts import AnnotationReport, Part, ReasoningDelta, TextDelta, UsageReport
from workers.tools.citing import Citing, citable

GUIDE = {"type": "file_citation", "file_id": "file_1", "filename": "guide.md"}
MARK = file_search.mark_of("file_1")


def knowing(*citations: Json) -> Citing:
    citing = Citing()
    citing.know({file_search.mark_of(citation["file_id"]): citation for citation in citations or (GUIDE,)})
    return citing


def placed(citing: Citing, *parts: Part) -> list[Part]:
    return [*citing.placed(parts), *citing.rest()]


def said(parts: list[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextDelta))


def places(parts: list[Part]) -> list[tuple[int, Any]]:
    """Where the annotations are, by what was told before them."""
    found, length = [], 0
    for part in parts:
        if isinstance(part, TextDelta):
            length += len(part.text)
        elif isinstance(part, AnnotationReport) and part.length is not None:
            found.append((length - part.length, part.annotation))
    return found


def test_a_mark_becomes_an_annotation_of_itself() -> None:
    parts = placed(knowing(), TextDelta("k", f"At most 100 MB {MARK}, says the guide."))
    assert said(parts) == f"At most 100 MB {MARK}, says the guide."
    assert places(parts) == [(15, GUIDE)]


@pytest.mark.parametrize("size", range(1, 9))
def test_a_mark_may_come_in_pieces(size: int) -> None:
    text = f"[a] x[{MARK}{MARK}] and [[{MARK}"
    cut = [TextDelta("k", text[at : at + size]) for at in range(0, len(text), size)]
    parts = placed(knowing(), *cut)
    assert said(parts) == text
    assert [place for place, _ in places(parts)] == [6, 14, 30]


def test_a_mark_that_nobody_gave_stays_text() -> None:
    other = file_search.mark_of("file_2")
    parts = placed(knowing(), TextDelta("k", f"So says {other} and list[0]"), TextDelta("k", " [not"))
    assert said(parts) == f"So says {other} and list[0] [not"
    assert places(parts) == []


def test_only_what_may_become_a_mark_is_held_back() -> None:
    citing = knowing()
    assert list(citing.placed([TextDelta("k", f"yes {MARK[:3]}")])) == [TextDelta("k", "yes ")]
    assert said(list(citing.placed([TextDelta("k", " no")]))) == f"{MARK[:3]} no"
    assert list(citing.rest()) == []


def test_counts_between_its_pieces_do_not_break_a_mark() -> None:
    count = UsageReport(1, 1)
    parts = placed(knowing(), TextDelta("k", MARK[:4]), count, TextDelta("k", MARK[4:]))
    assert parts[0] == count
    assert places(parts) == [(0, GUIDE)]


def test_another_part_ends_what_was_held_back() -> None:
    thought = ReasoningDelta("t", "hm")
    parts = placed(knowing(), TextDelta("k", MARK[:4]), thought, TextDelta("l", MARK[4:]))
    assert parts == [TextDelta("k", MARK[:4]), thought, TextDelta("l", MARK[4:])]


def test_log_probabilities_stay_with_their_tokens() -> None:
    tokens = tuple({"token": token} for token in ("so ", MARK[:2], MARK[2:], " it", " is"))
    parts = placed(knowing(), TextDelta("k", f"so {MARK} it is", tokens))
    texts = [part for part in parts if isinstance(part, TextDelta)]
    assert [part.text for part in texts] == [f"so {MARK}", " it is"]
    assert [part.logprobs for part in texts] == [tokens[:3], tokens[3:]]


def test_without_citations_everything_passes_as_it_came() -> None:
    parts = [TextDelta("k", MARK)]
    assert Citing().placed(parts) is parts


def test_receipts_of_the_conversation_may_be_cited_in_either_spelling() -> None:
    result = {"file_id": "file_1", "filename": "guide.md", "text": "…", "score": 1}
    receipt = {"type": "file_search_call", "queries": ["?"], "results": [result]}
    said = {"type": "message", "role": "user", "content": []}
    assert citable([said, receipt], [file_search.DECLARATION]) == {MARK: GUIDE}
    assert citable([{**receipt, "type": "antiphon:file_search_call"}], [file_search.DECLARATION]) == {
        MARK: GUIDE
    }
    assert citable([receipt], []) == {}
