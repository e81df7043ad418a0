"""Snapshots, usage and stored items are valid by the published schemas."""

from typing import Any

import pytest

from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest, parse_create
from responses_api.protocol.response import snapshot, stored_item, usage
from tests.unit.conformance.streams import GOOD
from tests.unit.protocol.oracle import check_item, check_response, event_faults

FUNCTION: Json = {"type": "function", "name": "f", "parameters": {"type": "object"}}
SCHEMA_FORMAT: Json = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}


def request(**fields: Any) -> CreateRequest:
    return parse_create({"model": "m", "input": "hi", **fields})


def shown(asked: CreateRequest, status: str = "in_progress", **more: Any) -> Json:
    return snapshot(response_id="resp_1", created_at=1, request=asked, status=status, **more)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "f"}},
        {
            "tools": [FUNCTION],
            "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "f"}]},
        },
        {"text": {"format": {"type": "json_object"}, "verbosity": "high"}},
        {"text": {"format": SCHEMA_FORMAT}},
        {"reasoning": {"effort": "xhigh", "summary": "auto"}},
        {"temperature": 0, "top_p": 0, "presence_penalty": -2, "frequency_penalty": 2, "top_logprobs": 20},
        {"metadata": {"a": "b"}, "safety_identifier": "s", "prompt_cache_key": "k", "instructions": "i"},
        {"store": False, "background": True, "service_tier": "flex", "truncation": "auto"},
        {"max_output_tokens": 16, "max_tool_calls": 1, "previous_response_id": "resp_0"},
    ],
)
def test_every_request_echoes_as_a_valid_response(fields: Json) -> None:
    check_response(shown(request(**fields)))
    check_response(
        shown(
            request(**fields),
            "failed",
            error={"code": "c", "message": "m"},
            usage=usage(1, 2),
            completed_at=2,
        )
    )


def test_the_settings_not_given_echo_as_their_defaults() -> None:
    told = shown(request())
    assert (told["temperature"], told["top_p"]) == (1, 1)
    assert (told["presence_penalty"], told["frequency_penalty"], told["top_logprobs"]) == (0, 0, 0)
    assert told["reasoning"] == {"effort": None, "summary": None}
    assert told["service_tier"] == "default"
    assert told["metadata"] == {}


def test_zero_is_not_a_default() -> None:
    told = shown(request(temperature=0, top_p=0))
    assert (told["temperature"], told["top_p"]) == (0, 0)


def test_tools_echo_with_their_nulls_and_a_schema_without_itself() -> None:
    told = shown(request(tools=[{"type": "function", "name": "f"}], text={"format": SCHEMA_FORMAT}))
    assert told["tools"] == [
        {"type": "function", "name": "f", "description": None, "parameters": None, "strict": None}
    ]
    assert told["text"]["format"] == {
        "type": "json_schema",
        "name": "n",
        "description": None,
        "schema": None,
        "strict": False,
    }


def test_the_request_keeps_the_schema_that_the_echo_leaves_out() -> None:
    asked = request(text={"format": SCHEMA_FORMAT})
    shown(asked)
    assert asked.text["format"]["schema"] == {"type": "object"}


def test_the_tier_that_was_given_is_told() -> None:
    assert shown(request(service_tier="priority"))["service_tier"] == "priority"


def test_a_told_total_is_kept() -> None:
    assert usage(1, 2)["total_tokens"] == 3
    assert usage(1, 2, 1, 1, total_tokens=9)["total_tokens"] == 9


ITEMS: list[Json] = [
    {"role": "user", "content": "x"},
    {"role": "system", "content": "x"},
    {"role": "assistant", "content": "x", "phase": "commentary"},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    {
        "role": "user",
        "content": [
            {"type": "input_image", "image_url": "https://h/i.png"},
            {"type": "input_image", "image_url": "https://h/i.png", "detail": "high"},
            {"type": "input_file", "file_url": "https://h/f", "filename": None},
        ],
    },
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "x"},
    {
        "type": "function_call_output",
        "call_id": "c",
        "output": [{"type": "input_image", "image_url": "https://h/i.png"}],
    },
    {"type": "reasoning", "summary": [], "content": None, "encrypted_content": None},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "e"},
    {"type": "compaction", "encrypted_content": "e"},
]


@pytest.mark.parametrize("sent", ITEMS)
def test_stored_items_are_valid_and_hold_no_nulls(sent: Json) -> None:
    (item,) = request(input=[sent]).input
    stored = stored_item(item, "it_1")
    check_item(stored)
    assert stored["id"] == "it_1"
    assert stored.get("status", "completed") == "completed"
    assert None not in stored.values()


@pytest.mark.parametrize("sent", ITEMS)
def test_a_stored_item_comes_back_as_the_same_input(sent: Json) -> None:
    (item,) = request(input=[sent]).input
    stored = stored_item(item, "it_1")
    (again,) = request(input=[stored]).input
    assert stored_item(again, "it_1") == stored


def test_images_are_stored_with_their_detail() -> None:
    (item,) = request(input=[ITEMS[4]]).input
    parts = stored_item(item, "msg_1")["content"]
    assert [part.get("detail") for part in parts] == ["auto", "high", None]


def test_a_vendor_item_keeps_its_own_status() -> None:
    assert stored_item({"type": "acme:x", "status": "failed"}, "it_1")["status"] == "failed"


def test_an_item_reference_cannot_be_stored() -> None:
    with pytest.raises(ValueError, match="item reference"):
        stored_item({"type": "item_reference", "id": "msg_1"}, "it_1")


@pytest.mark.parametrize(
    "name", [name for name in GOOD if "receipts" not in name and not name.startswith("openai")]
)
def test_every_event_is_valid_by_the_published_schema(name: str) -> None:
    assert [fault for event in GOOD[name] for fault in event_faults(event)] == []
