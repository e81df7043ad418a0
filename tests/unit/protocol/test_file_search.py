"""File search's entry, and what its receipts become."""

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from responses_api.protocol import file_search
from responses_api.protocol.citations import placed_annotation
from responses_api.protocol.plain import Json

ENTRY = TypeAdapter(file_search.DECLARATION.entry)


def receipt(**fields: object) -> Json:
    result = {
        "file_id": "file_1",
        "filename": "guide.md",
        "score": 0.5,
        "text": "At most 100 MB.",
        "attributes": {"page": 3, "headings": "Limits > Size"},
    }
    return {
        "type": "antiphon:file_search_call",
        "status": "completed",
        "queries": ["How large?"],
        "results": [result],
        "error": None,
        **fields,
    }


def test_an_entry_without_settings_gets_the_usual_ones() -> None:
    assert ENTRY.validate_python({"type": "antiphon:file_search"}) == {
        "type": "antiphon:file_search",
        "file_ids": None,
        "max_num_results": 8,
        "score_threshold": 0.0,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"file_ids": []},
        {"file_ids": [1]},
        {"max_num_results": 0},
        {"max_num_results": 51},
        {"score_threshold": 2},
    ],
)
def test_an_entry_with_a_wrong_setting_is_refused(wrong: Json) -> None:
    with pytest.raises(ValidationError):
        ENTRY.validate_python({"type": "antiphon:file_search", **wrong})


@pytest.mark.parametrize(
    "arguments", [{"queries": ["a", "a", " "]}, {"queries": "a"}, {"query": "a"}, {"query": ["a"]}]
)
def test_queries_are_found_where_models_write_them(arguments: Json) -> None:
    assert file_search.queries_of(arguments) == ["a"]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"queries": []}, {"queries": [1]}, {"queries": ["a" * 1001]}, {"queries": list("abcdef")}],
)
def test_arguments_that_ask_for_nothing_are_refused_in_a_sentence(arguments: Json) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        file_search.queries_of(arguments)


def test_a_receipt_tells_the_model_what_was_found_and_how_to_cite_it() -> None:
    told = file_search.DECLARATION.replayed(receipt())
    mark = file_search.mark_of("file_1")
    assert (told.name, told.arguments) == ("file_search", '{"queries":["How large?"]}')
    assert f"{mark} guide.md, page 3, Limits > Size\nAt most 100 MB." in told.output
    assert f"for example {mark}." in told.output


def test_what_citations_stand_for_follows_from_the_receipt() -> None:
    assert file_search.DECLARATION.citations(receipt()) == {
        file_search.mark_of("file_1"): {
            "type": "file_citation",
            "file_id": "file_1",
            "filename": "guide.md",
        }
    }


def test_a_receipt_of_a_failure_tells_it() -> None:
    failed = receipt(status="failed", results=[], error="The database does not answer.")
    told = file_search.DECLARATION.replayed(failed)
    assert told.output == "The call failed: The database does not answer."
    assert file_search.DECLARATION.replayed(receipt(results=None)).output == "No passage of the files fits."


@pytest.mark.parametrize(
    "wrong",
    [
        {"queries": None},
        {"queries": [1]},
        {"results": {}},
        {"results": [1]},
        {"results": [{"file_id": "a", "filename": "b"}]},
        {"results": [{"file_id": "a", "filename": "b", "text": "c", "attributes": 1}]},
        {"error": 1},
    ],
)
def test_a_receipt_that_makes_no_sense_is_refused(wrong: Json) -> None:
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}"):
        file_search.DECLARATION.replayed(receipt(**wrong))


def test_marks_are_short_and_each_files_own() -> None:
    marks = {file_search.mark_of(f"file_{number}") for number in range(10_000)}
    assert len(marks) == 10_000
    assert all(re.fullmatch(r"\[[0-9a-z]{6}\]", mark) for mark in marks)


def test_a_citation_of_a_file_is_told_as_each_dialect_knows_it() -> None:
    citation = {"type": "file_citation", "file_id": "file_1", "filename": "guide.md"}
    assert placed_annotation(citation, 4, 12, "openai") == {**citation, "index": 4}
    assert placed_annotation(citation, 4, 12, "open") == {
        "type": "url_citation",
        "start_index": 4,
        "end_index": 12,
        "url": "/v1/files/file_1/content",
        "title": "guide.md",
    }
