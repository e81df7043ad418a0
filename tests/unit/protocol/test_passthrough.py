"""Which tools and items of other types belong together."""

import pytest

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.passthrough import is_foreign, takes_item, takes_tool
from tests.unit.workers.builders import make_job


@pytest.mark.parametrize(
    ("pattern", "tool", "items"),
    [
        ("web_search", "web_search", ["web_search_call"]),
        ("web_search_2025_08_26", "web_search_2025_08_26", ["web_search_call"]),
        ("web_search_preview_2025_03_11", "web_search_preview_2025_03_11", ["web_search_call"]),
        ("web_search*", "web_search_preview", ["web_search_call"]),
        ("code_interpreter", "code_interpreter", ["code_interpreter_call"]),
        ("computer_use_preview", "computer_use_preview", ["computer_call", "computer_call_output"]),
        ("local_shell", "local_shell", ["local_shell_call", "local_shell_call_output"]),
        ("custom", "custom", ["custom_tool_call", "custom_tool_call_output"]),
        ("tool_search", "tool_search", ["tool_search_call", "tool_search_output"]),
        ("acme:*", "acme:lookup", ["acme:lookup", "acme:lookup_call", "acme:receipt"]),
        ("acme:lookup", "acme:lookup", ["acme:receipt"]),
        ("*", "anything", ["anything_call", "acme:thing"]),
    ],
)
def test_a_tool_and_its_items_go_through_together(pattern: str, tool: str, items: list[str]) -> None:
    assert takes_tool([pattern], tool)
    assert all(takes_item(["other", pattern], item) for item in items)


@pytest.mark.parametrize("patterns", [[], ["code_interpreter"], ["acme:*"], ["Web_search"]])
def test_what_is_not_named_does_not_go_through(patterns: list[str]) -> None:
    assert not takes_tool(patterns, "web_search")
    assert not takes_item(patterns, "web_search_call")


def test_functions_and_mcp_never_go_through() -> None:
    for kind in ("function", "mcp"):
        assert not takes_tool(["*", kind], kind)
    assert not takes_item(["mcp"], "mcp_call")
    assert not takes_item(["function", "*"], "function_call")


def test_items_of_the_specification_are_not_foreign() -> None:
    assert not is_foreign("message")
    assert not is_foreign("function_call_output")
    assert is_foreign("web_search_call")
    assert is_foreign("acme:thing")


@pytest.mark.parametrize(("kind", "takes"), [("responses", True), ("chat_completions", False)])
def test_only_a_backend_that_speaks_responses_has_them(kind: str, takes: bool) -> None:
    row = {"kind": kind, "passthrough_tool_types": ["web_search"], "native_features": ["allowed_tools"]}
    spec = BackendSpec.from_plain(make_job(row=row).backend)
    assert spec.takes_tool("web_search") is takes
    assert spec.takes_item("web_search_call") is takes
    assert spec.has("allowed_tools") is takes
    assert spec.other_tool_types == (["web_search"] if takes else [])
