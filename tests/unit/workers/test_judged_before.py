"""What the tool policies say of the calls that a lost worker told, once another goes on with the response."""

import pytest

from responses_api.protocol.plain import Json
from tests.unit.workers.builders import make_job
from workers.serving import judged_before

TOOLS: list[Json] = [
    {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example.com/mcp"},
    {"type": "antiphon:file_search"},
]
CALL: Json = {"server_label": "docs", "name": "look_up", "arguments": "{}"}


@pytest.mark.parametrize(
    ("item", "called"),
    [
        ({"type": "antiphon:mcp_call", **CALL}, "look_up"),
        ({"type": "mcp_approval_request", **CALL}, "look_up"),
        (
            {"type": "antiphon:mcp_approval_request", **CALL, "server_label": "antiphon:file_search"},
            "antiphon:file_search",
        ),
        ({"type": "antiphon:file_search_call", "queries": []}, "antiphon:file_search"),
        ({"type": "antiphon:mcp_list_tools", "server_label": "docs"}, None),
        ({"type": "message"}, None),
    ],
)
def test_a_call_that_was_made_or_asked_for_counts_as_called(item: Json, called: str | None) -> None:
    judged = judged_before(make_job(tools=TOOLS), item)
    assert (judged and judged[0]) == called
