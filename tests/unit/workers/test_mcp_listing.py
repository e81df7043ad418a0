"""Which tools of a server the model is offered, under which names, and how much of them."""

from typing import Any

import pytest
from mcp_types import Tool, ToolAnnotations

from responses_api.protocol.mcp_filters import Filter, read_filter
from responses_api.protocol.plain import Json
from workers.tools.mcp.failures import McpFailure
from workers.tools.mcp.listing import functions, known, listed


def tool(
    name: str, schema: Json | None = None, *, read_only: bool | None = None, description: str = ""
) -> Tool:
    annotations = None if read_only is None else ToolAnnotations(read_only_hint=read_only)
    return Tool(
        name=name, input_schema=schema or {"type": "object"}, annotations=annotations, description=description
    )


def names(tools: list[Tool], allowed: Any = None) -> list[str]:
    return [one["name"] for one in listed(tools, read_filter(allowed), str)]


def named(*tools: str) -> list[Json]:
    return functions([{"name": name, "description": None, "input_schema": {}} for name in tools])


def test_a_filter_is_a_list_of_names_or_an_object() -> None:
    tools = [tool("read", read_only=True), tool("write", read_only=False), tool("other")]
    assert names(tools) == ["read", "write", "other"]
    assert names(tools, ["write", "nope"]) == ["write"]
    assert names(tools, []) == []
    assert names(tools, {"tool_names": ["write", "other"]}) == ["write", "other"]
    assert names(tools, {"read_only": True}) == ["read"]
    assert names(tools, {"read_only": False}) == ["write", "other"]
    assert names(tools, {"read_only": True, "tool_names": ["write"]}) == []


def test_names_that_are_none_of_functions_are_made_ones_that_differ() -> None:
    made = [function["name"] for function in named("a.b", "a/b", "a_b", "é", "x" * 70, "x" * 64 + "y", "")]
    assert made == ["a_b", "a_b_2", "a_b_3", "_", "x" * 64, "x" * 62 + "_2", "tool"]


@pytest.mark.parametrize(
    ("schema", "offered"),
    [
        ({"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"type": "object"}, {"type": "object", "properties": {}}),
        ({}, {"type": "object", "properties": {}}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"type": "string"}, {"type": "object", "properties": {}}),
        ({"type": ["object", "null"]}, {"type": "object", "properties": {}}),
        ({"type": "object", "properties": 1}, {"type": "object", "properties": {}}),
    ],
)
def test_every_tool_is_offered_with_a_schema_of_an_object(schema: Json, offered: Json) -> None:
    made = functions([{"name": "a", "description": "d", "input_schema": schema}])
    assert made == [
        {"type": "function", "name": "a", "description": "d", "parameters": offered, "strict": None}
    ]


def test_what_the_request_says_of_the_server_is_told_with_each_tool() -> None:
    tools: list[Json] = [
        {"name": "a", "description": "Does it.", "input_schema": {}},
        {"name": "b", "description": None, "input_schema": {}},
    ]
    assert [one["description"] for one in functions(tools, "Of the shop.")] == [
        "Does it.\n\nOf the shop.",
        "Of the shop.",
    ]
    assert [one["description"] for one in functions(tools)] == ["Does it.", None]


def test_too_many_tools_are_refused_and_a_filter_helps() -> None:
    tools = [tool(f"tool_{number}") for number in range(257)]
    with pytest.raises(McpFailure, match=r"offers 257 tools, and no more than 256 can be\. Name those"):
        names(tools)
    assert names(tools, ["tool_1"]) == ["tool_1"]


def test_too_long_a_description_is_refused_by_the_name_of_its_tool() -> None:
    with pytest.raises(
        McpFailure, match=r"takes \d+ bytes to describe its tool 'long', and there is room for 65536"
    ):
        names([tool("long", description="x" * 70_000)])
    with pytest.raises(
        McpFailure, match=r"takes \d+ bytes to describe its tools, and there is room for 524288"
    ):
        names([tool(f"tool_{number}", description="x" * 60_000) for number in range(9)])


def test_texts_that_cannot_be_stored_are_mended_and_secrets_taken_out() -> None:
    schema = {"type": "object", "properties": {"a\x00": {"default": "secret-1", "maximum": float("inf")}}}
    [one] = listed(
        [tool("a", schema, description="b\x00 secret-1")], Filter(), lambda t: t.replace("secret-1", "*")
    )
    assert one["description"] == "b� *"
    assert one["input_schema"]["properties"] == {"a�": {"default": "*", "maximum": None}}


def test_numbers_of_any_size_may_stand_in_a_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"minimum": -(2**63), "maximum": 2**80, "default": 10**400}},
    }
    [one] = listed([tool("a", schema)], Filter(), str)
    assert one["input_schema"]["properties"]["a"] == {
        "minimum": -(2**63),
        "maximum": 2.0**80,
        "default": None,
    }


@pytest.mark.parametrize(("name", "length"), [("", 0), ("x" * 257, 257)])
def test_a_name_that_no_receipt_could_bring_back_is_refused_and_a_filter_helps(
    name: str, length: int
) -> None:
    with pytest.raises(
        McpFailure, match=rf"whose name has {length} characters; it must have 1 to 256\. Name"
    ):
        names([tool(name), tool("other")])
    assert names([tool(name), tool("other")], ["other"]) == ["other"]


def test_what_an_earlier_receipt_lists_is_taken_as_far_as_it_makes_sense() -> None:
    told = [
        {"name": "a", "input_schema": 1, "description": 2, "annotations": 3},
        {"name": ""},
        None,
        {"name": "b"},
    ]
    assert known(told, read_filter(["a"])) == [
        {"name": "a", "description": None, "input_schema": {}, "annotations": None}
    ]
