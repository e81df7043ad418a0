"""The suite's own shapes take what is right and say what is wrong, and where."""

from copy import deepcopy
from typing import Any

import pytest

from responses_api.conformance.shapes.events import event_faults
from responses_api.conformance.shapes.resource import error_faults, response_faults
from responses_api.protocol import event_types as t
from tests.unit.conformance.streams import GOOD

FINAL = GOOD["everything"][-1]["response"]
ERROR = {"error": {"message": "No.", "type": "not_found", "param": None, "code": None}}


@pytest.mark.parametrize("name", [name for name in GOOD if not name.startswith("openai")])
def test_good_events_have_their_shapes(name: str) -> None:
    assert [fault for event in GOOD[name] for fault in event_faults(event)] == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("temperature",), None),
        (("created_at",), 1.5),
        (("status",), "done"),
        (("usage",), {"input_tokens": 1}),
        (("tools",), [{"type": "function", "name": "f"}]),
        (("tool_choice",), "perhaps"),
        (
            ("text", "format"),
            {"type": "json_schema", "name": "n", "description": None, "schema": {}, "strict": True},
        ),
        (("output", 0, "summary"), None),
        (("output", 0, "encrypted_content"), None),
        (("output", 1, "phase"), None),
        (("output", 1, "content", 0, "annotations"), None),
        (("output", 1, "role"), "narrator"),
        (("output", 1, "type"), "telegram"),
    ],
    ids=str,
)
def test_a_wrong_value_is_told_with_its_path(path: tuple[str | int, ...], value: Any) -> None:
    response = deepcopy(FINAL)
    *steps, last = path
    held: Any = response
    for step in steps:
        held = held[step]
    held[last] = value
    assert any(str(path[0]) in fault for fault in response_faults(response))
    assert list(response_faults(FINAL)) == []


@pytest.mark.parametrize("name", sorted(FINAL))
def test_each_field_of_a_response_is_required(name: str) -> None:
    response = {key: value for key, value in FINAL.items() if key != name}
    assert any(fault.startswith(name) for fault in response_faults(response))


def test_vendors_may_have_items_and_events_of_their_own() -> None:
    item = {"type": "acme:note", "id": "note_1", "status": "completed", "text": "x"}
    assert list(response_faults({**FINAL, "output": [item]})) == []
    assert list(response_faults({**FINAL, "output": [{"type": "acme:note"}]}))
    assert list(event_faults({"type": "acme:trace", "sequence_number": 1})) == []
    assert list(event_faults({"type": "acme:trace"}))
    assert list(event_faults({"type": "response.sung", "sequence_number": 1}))


def test_further_fields_are_no_fault() -> None:
    assert list(response_faults({**FINAL, "acme": 1})) == []


@pytest.mark.parametrize("name", ["message", "type", "param", "code"])
def test_an_error_has_four_fields(name: str) -> None:
    assert list(error_faults(ERROR)) == []
    assert list(error_faults({"error": {key: ERROR["error"][key] for key in ERROR["error"] if key != name}}))


def test_an_event_names_its_place() -> None:
    delta = next(event for event in GOOD["text"] if event["type"] == t.OUTPUT_TEXT_DELTA)
    assert list(event_faults(delta)) == []
    assert list(event_faults({**delta, "content_index": "first"}))
    assert list(event_faults({**delta, "obfuscation": None}))
