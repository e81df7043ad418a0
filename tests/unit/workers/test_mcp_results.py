"""What a receipt and the model are told of a result of an MCP server."""

from typing import Any

import pytest
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    TextContent,
)

from workers.tools.mcp.results import Told, told


def result(*texts: str, **fields: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text) for text in texts], **fields)


def text_of(result: CallToolResult, most: int = 1000) -> str:
    return told(result, lambda text: text, most).text


def test_texts_follow_each_other_in_lines() -> None:
    assert text_of(result("one", "two")) == "one\ntwo"


@pytest.mark.parametrize(
    ("texts", "structured"),
    [
        (['{"a": 1}'], {"a": 1}),
        (["3"], {"result": 3}),
        (["three"], {"result": "three"}),
        (["1", "2"], {"result": [1, 2]}),
        (["a", "b"], {"result": ["a", "b"]}),
    ],
)
def test_structured_content_that_the_text_tells_already_is_not_told_twice(
    texts: list[str], structured: Any
) -> None:
    assert text_of(result(*texts, structured_content=structured)) == "\n".join(texts)


def test_structured_content_that_the_text_does_not_tell_is_told() -> None:
    assert text_of(result("Two were found.", structured_content={"found": [1, 2]})) == (
        'Two were found.\n{"found":[1,2]}'
    )
    assert text_of(result(structured_content={"found": [1, 2]})) == '{"found":[1,2]}'


def test_bytes_are_told_of_by_their_size_alone() -> None:
    blob = BlobResourceContents(uri="file:///a.bin", blob="AAAA")
    content: list[Any] = [
        AudioContent(type="audio", data="AAE=", mime_type="audio/wav"),
        EmbeddedResource(type="resource", resource=blob),
    ]
    assert text_of(CallToolResult(content=content)) == (
        "[a sound, audio/wav, 2 bytes, is not shown]\n"
        "[the resource file:///a.bin, of an unknown type, 3 bytes, is not shown]"
    )


def test_what_cannot_be_stored_is_replaced() -> None:
    assert text_of(result("a\x00b")) == "a�b"


def test_a_result_is_cut_between_characters_and_says_so() -> None:
    assert text_of(result("éé"), most=3) == "é\n[The result was cut: of 4 bytes, these are the first 2.]"
    assert text_of(result("éé"), most=4) == "éé"


def test_an_error_without_words_gets_some() -> None:
    assert told(result(is_error=True), str, 100) == Told(
        "The tool says that it failed, and nothing more.", True
    )
    assert told(result(), str, 100) == Told("", False)


def test_numbers_of_any_size_are_told() -> None:
    assert text_of(result(structured_content={"n": 2**80})) == f'{{"n":{2**80}}}'
