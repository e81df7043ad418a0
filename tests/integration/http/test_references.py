"""Item references: an item of a stored response is named instead of sent again."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from responses_api.protocol.plain import Json
from responses_api.services.finish import finish
from responses_api.services.references import resolve
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.builders import ended, job_of, said, stored
from tests.support.chat import ToolCall, chat_calls
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client
from tests.support.queue_worker import take_id
from tests.support.upstream import ScriptedUpstream

FUNCTION = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}


def items_of(client: Client, response: Json) -> list[Json]:
    """Input and output of a stored response."""
    given = client.get(f"/responses/{response['id']}/input_items?order=asc").json()["data"]
    return [*given, *response["output"]]


def said_to(upstream: ScriptedUpstream) -> list[Any]:
    """The contents of the messages that the upstream was last sent."""
    return [message["content"] for message in upstream.requests()[-1].body["messages"]]


@pytest.mark.parametrize("typed", [{"type": "item_reference"}, {"type": None}, {}])
@pytest.mark.parametrize("stream", [False, True])
def test_a_reference_stands_for_the_item_it_names_at_its_place(
    typed: Json, stream: bool, friend: Client, upstream: ScriptedUpstream
) -> None:
    asked, answered = items_of(friend, friend.create(input="First").json())
    given = [
        {"role": "developer", "content": "Be short."},
        {**typed, "id": asked["id"]},
        {**typed, "id": answered["id"]},
        {"role": "user", "content": "Second"},
    ]
    if stream:
        second = checked_stream(friend.read_stream(input=given), friend)
    else:
        second = checked_response(friend, friend.create(input=given).json())
    assert said_to(upstream) == ["Be short.", "First", answered["content"][0]["text"], "Second"]
    kept = items_of(friend, second)[:4]
    assert [item["content"][0]["text"] for item in kept] == said_to(upstream)
    # Stored as items of their own, which outlive the ones they came from.
    assert {item["id"] for item in kept}.isdisjoint({asked["id"], answered["id"]})


def test_a_call_that_is_named_can_be_answered(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_calls(ToolCall("weather", '{"place": "Ulm"}', "call_u")))
    asked, call = items_of(friend, friend.create(input="Ulm?", tools=[FUNCTION]).json())
    references = [{"type": "item_reference", "id": item["id"]} for item in (asked, call)]
    answer = {"type": "function_call_output", "call_id": "call_u", "output": "12 degrees"}
    second = friend.create(input=[*references, answer], tools=[FUNCTION]).json()
    assert output_text(checked_response(friend, second)) == "The tool returned: 12 degrees"
    open_call = friend.create(input=references, tools=[FUNCTION])
    assert (open_call.status, open_call.error["param"]) == (400, "input[1].call_id")


def test_references_go_with_a_chain_and_reach_items_outside_of_it(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    (elsewhere, _) = items_of(friend, friend.create(input="Elsewhere").json())
    first = friend.create(input="First").json()
    second = friend.create(
        input=[{"id": elsewhere["id"]}, {"role": "user", "content": "Second"}],
        previous_response_id=first["id"],
    ).json()
    assert said_to(upstream) == ["First", output_text(first), "Elsewhere", "Second"]
    friend.create(input="Third", previous_response_id=second["id"])
    assert said_to(upstream)[2] == "Elsewhere"


def test_what_cannot_be_named_looks_alike(
    friend: Client,
    stranger: Client,
    friend_tenant: Tenant,
    stranger_tenant: Tenant,
    upstream: ScriptedUpstream,
) -> None:
    foreign = stored(stranger_tenant, "secret", "quince")["output"][0]["id"]
    gone = stored(friend_tenant)
    friend.delete(f"/responses/{gone['id']}")
    with friend.stream(input="waits", service_tier="flex"):
        running = take_id("flex")
        names = friend.get(f"/responses/{running}/input_items").json()["data"]
    unkept = friend.create(input="x", store=False).json()["output"][0]["id"]
    seen = len(upstream.requests())
    references = [
        foreign,
        gone["output"][0]["id"],
        gone["id"],
        names[0]["id"],
        unkept,
        "msg_" + "0" * 44,
        "x" * 9000,
    ]
    answers = []
    for name in references:
        answer = friend.create(
            input=[{"role": "user", "content": "x"}, {"type": "item_reference", "id": name}]
        )
        assert (answer.status, answer.error["type"], answer.error["code"]) == (
            400,
            "invalid_request",
            "item_not_found",
        )
        assert answer.error["param"] == "input[1].id"
        answers.append(answer.error["message"].replace(name, "<id>"))
    assert len(set(answers[:-1])) == 1
    assert all(len(message) < 200 for message in answers)
    assert len(upstream.requests()) == seen
    own = stranger.create(input=[{"id": foreign}, {"role": "user", "content": "x"}])
    assert own.status == 200


def test_any_number_of_references_is_one_query(friend_tenant: Tenant) -> None:
    ids = [stored(friend_tenant, str(turn))["output"][0]["id"] for turn in range(20)]
    with tenant_scope(friend_tenant.id), CaptureQueriesContext(connection) as queries:
        items = resolve([{"type": "item_reference", "id": item_id} for item_id in ids])
    assert [item["id"] for item in items] == ids
    assert len(queries) == 1
    with tenant_scope(friend_tenant.id), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {queries[0]['sql']}")
        plan = str(cursor.fetchall())
    assert plan.count("Index Scan using ") == 2
    assert "Seq Scan" not in plan


def test_items_of_a_failed_response_can_be_named(friend: Client, friend_tenant: Tenant) -> None:
    half = said("Half a", "incomplete")
    error = {"code": "upstream_error", "message": "Cut."}
    finish([ended(job_of(friend_tenant), half, status="failed", error=error)])
    answer = friend.create(input=[{"id": half["id"]}, {"role": "user", "content": "Go on"}])
    assert answer.status == 200


def test_named_items_are_bounded_however_often_one_is_named(
    friend: Client, friend_tenant: Tenant, settings: Settings, upstream: ScriptedUpstream
) -> None:
    item = stored(friend_tenant, "x", "y" * 5000)["output"][0]["id"]
    settings.MAX_CONTEXT_BYTES = 12_000
    assert friend.create(input=[{"id": item}] * 2 + [{"role": "user", "content": "x"}]).status == 200
    for count in (3, 50):
        refused = friend.create(input=[{"id": item}] * count)
        assert (refused.status, refused.error["code"], refused.error["param"]) == (
            400,
            "context_length_exceeded",
            "input",
        )
    settings.MAX_CONTEXT_BYTES = 4000
    assert friend.create(input=[{"id": item}]).error["code"] == "context_length_exceeded"
    assert len(upstream.requests()) == 1
