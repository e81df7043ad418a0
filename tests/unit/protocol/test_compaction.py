"""What a compaction keeps, and where its trigger may stand."""

import pytest

from responses_api.protocol.compaction import continued, kept
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest, parse_compact, parse_create

TRIGGER: Json = {"type": "compaction_trigger"}
HELLO: Json = {"role": "user", "content": "Hello"}
COMPACTED: Json = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}


def said(role: str) -> Json:
    return {"type": "message", "role": role, "content": []}


CONTEXT = [
    said("system"),
    said("developer"),
    said("user"),
    said("assistant"),
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "call_id": "c"},
    {"type": "function_call_output", "call_id": "c", "output": ""},
    COMPACTED,
    {"type": "acme:thing"},
]


def test_only_messages_that_the_model_did_not_write_are_kept() -> None:
    assert [item["role"] for item in kept(CONTEXT)] == ["system", "developer", "user"]


def test_what_goes_on_behind_a_compaction_is_the_window() -> None:
    assert continued(CONTEXT, [COMPACTED]) == [*kept(CONTEXT), COMPACTED]
    assert continued(CONTEXT, [said("assistant")]) == [*CONTEXT, said("assistant")]


def test_a_trigger_is_no_item_of_the_input() -> None:
    request = parse_create({"model": "m", "input": [HELLO, TRIGGER]})
    assert request.compacts
    assert [item["type"] for item in request.input] == ["message"]
    assert not parse_create({"model": "m", "input": [HELLO]}).compacts
    alone = parse_create({"model": "m", "input": [TRIGGER], "previous_response_id": "resp_1"})
    assert (alone.compacts, alone.input) == (True, [])


def test_whether_it_compacts_survives_the_way_to_the_worker() -> None:
    request = parse_create({"model": "m", "input": [HELLO, TRIGGER]})
    assert CreateRequest.from_plain(request.to_plain()) == request
    older = {name: value for name, value in request.to_plain().items() if name != "compacts"}
    assert not CreateRequest.from_plain(older).compacts


@pytest.mark.parametrize("given", [[TRIGGER], [TRIGGER, HELLO], [HELLO, TRIGGER, HELLO]])
def test_a_trigger_elsewhere_is_refused(given: list[Json]) -> None:
    with pytest.raises(ProtocolError) as refusal:
        parse_create({"model": "m", "input": given})
    assert refusal.value.status == 400


def test_backend_options_beside_a_trigger_are_refused_and_not_left_out_in_silence() -> None:
    with pytest.raises(ProtocolError, match="leave 'antiphon:backend_options' out") as refusal:
        parse_create({"model": "m", "input": [HELLO, TRIGGER], "antiphon:backend_options": {"top_k": 4}})
    assert (refusal.value.status, refusal.value.param) == (400, "antiphon:backend_options")


def test_a_request_to_compact_ignores_what_has_no_effect_on_it() -> None:
    body = {"model": "m", "input": "x", "stream": True, "store": True, "tools": "none", "temperature": 7}
    request = parse_compact({**body, "instructions": "Be brief.", "service_tier": "flex"})
    assert (request.compacts, request.stream, request.store) == (True, False, False)
    assert (request.instructions, request.service_tier, request.tools) == ("Be brief.", "flex", [])
