"""How the page of a response shows what the service's own tools did: readable, escaped, nothing hidden."""

from typing import Any

import pytest
from django.test import Client

from responses_api.admin.conversation import block
from responses_api.admin.decisions import decisions_of
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import REFUSED_BY
from tenants.models import Tenant
from tests.integration.admin.stored import page_of, store

SCRIPT = "<script>alert('told')</script>"
LIST: Json = {
    "type": "antiphon:mcp_list_tools",
    "server_label": "dice",
    "tools": [{"name": "roll", "description": f"Rolls. {SCRIPT}", "input_schema": {}, "annotations": None}],
    "error": None,
}
CALL: Json = {
    "type": "antiphon:mcp_call",
    "server_label": "dice",
    "name": "roll",
    "arguments": '{"sides": 6}',
    "output": f"A four. {SCRIPT}",
    "error": None,
    "approval_request_id": "mcpr_1",
    "status": "completed",
}
REFUSED: Json = {
    **CALL,
    "output": None,
    "error": "No dice here.",
    "status": "failed",
    REFUSED_BY: {
        "effect": "deny",
        "policy": "tenant",
        "version": 3,
        "rule": "no-dice",
        "why": "No dice here.",
    },
}
REQUEST: Json = {
    "type": "mcp_approval_request",
    "server_label": "dice",
    "name": "roll",
    "arguments": '{"sides": 20}',
}
SEARCH: Json = {
    "type": "antiphon:file_search_call",
    "status": "completed",
    "queries": ["grey herons"],
    "results": [
        {
            "file_id": "file_1",
            "filename": "birds.pdf",
            "score": 0.91234,
            "text": "Herons.",
            "attributes": {"page": 7},
        }
    ],
    "error": None,
}


def test_receipts_are_told_as_what_they_are_and_escaped(operator: Client, friend: Tenant) -> None:
    response_id = store(friend, None, LIST, CALL, REFUSED, REQUEST, SEARCH)
    answered = operator.get(page_of(response_id))
    page = answered.content.decode()
    for told in (
        "Tools of the MCP server dice",
        "Calls roll of the MCP server dice",
        "&quot;sides&quot;: 6",
        "A four.",
        "approved by the answer to mcpr_1",
        "Refused by",
        "no-dice",
        "Asks to call roll of the MCP server dice",
        "Searches files",
        "grey herons",
        "birds.pdf, score 0.912 (page 7)",
        "Herons.",
    ):
        assert told in page, told
    assert SCRIPT not in page


@pytest.mark.parametrize("item", [LIST, CALL, REFUSED, REQUEST, SEARCH])
def test_either_spelling_is_shown_alike(item: Json) -> None:
    plain = item["type"].removeprefix("antiphon:")
    assert block({**item, "type": plain}) == block({**item, "type": f"antiphon:{plain}"})


@pytest.mark.parametrize(
    ("item", "title", "label"),
    [
        ({**LIST, "tools": [], "error": "It is down."}, "Tools of the MCP server dice", "Error"),
        ({**CALL, "error": {"code": 1}, "output": None}, "Calls roll of the MCP server dice", "Error"),
        ({**SEARCH, "results": []}, "Searches files", "Query"),
        (
            {
                "type": "mcp_approval_response",
                "approval_request_id": "mcpr_1",
                "approve": False,
                "reason": "No.",
            },
            "Denies the call",
            "Reason",
        ),
    ],
)
def test_failures_and_answers_are_told(item: Json, title: str, label: str) -> None:
    shown = block(item)
    assert shown.title == title
    assert label in [part.label for part in shown.parts]


@pytest.mark.parametrize("change", [{"tools": 3}, {"tools": [{}]}, {"server_label": None, "tools": None}])
def test_a_receipt_of_another_shape_is_shown_as_json(change: dict[str, Any]) -> None:
    shown = block({**LIST, **change})
    assert [part.kind for part in shown.parts] == ["code"]


def test_a_call_that_waits_for_the_caller_is_neither_allowed_nor_refused() -> None:
    entry = {
        "tool": "roll",
        "effect": "approve",
        "why": "The tenant's policy asks for approval.",
        "rule": "r",
    }
    (decision,) = decisions_of([entry])
    assert decision.sentence.startswith("roll was left to the caller's approval.")
