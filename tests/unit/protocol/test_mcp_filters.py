"""Which tools of a server a request means, and which of its calls wait for the client."""

from typing import Any

import pytest

from responses_api.protocol.mcp_filters import read_filter, wants_approval


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        (None, True),
        ("always", True),
        ("never", False),
        ({"never": {"tool_names": ["a"]}}, False),
        ({"never": {"tool_names": ["b"]}}, True),
        ({"always": {"tool_names": ["a"]}}, True),
        ({"always": {"tool_names": ["b"]}}, True),
        ({"always": {"tool_names": ["b"]}, "never": {"tool_names": ["a"]}}, False),
        ({"always": {"tool_names": ["a"]}, "never": {"tool_names": ["a"]}}, True),
        ({"never": {"read_only": True}}, False),
        ({"always": None, "never": None}, True),
        ({}, True),
    ],
)
def test_approval_is_wanted_unless_the_request_says_otherwise_of_the_tool(told: Any, wanted: bool) -> None:
    assert wants_approval(told, {"name": "a", "annotations": {"readOnlyHint": True}}) is wanted


def test_names_stay_in_the_order_of_the_request() -> None:
    assert list(read_filter(["b", "c", "a", "b"]).names or ()) == ["b", "c", "a"]
    assert list(read_filter({"tool_names": ["b", "a"], "read_only": True}).names or ()) == ["b", "a"]


@pytest.mark.parametrize(
    ("told", "named", "any_at_all"),
    [
        (None, True, True),
        (["a"], True, True),
        (["b"], False, True),
        ([], False, False),
        ({"tool_names": ["b"]}, False, True),
        ({"read_only": True}, True, True),
    ],
)
def test_a_tool_may_be_meant_before_any_is_listed(told: Any, named: bool, any_at_all: bool) -> None:
    read = read_filter(told)
    assert (read.may_match("a"), read.may_match(None)) == (named, any_at_all)
