"""Finish: a response and its items are stored together, once, exactly as they were told."""

from copy import deepcopy

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from responses_api.models import Item, Response
from responses_api.protocol.sse import decode, encode
from responses_api.services.finish import Outcome, finish
from responses_api.services.stored import Page, input_items, retrieve
from tenants.models import Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.builders import ended, job_of, said
from tests.support.oracle import assert_response

pytestmark = pytest.mark.usefixtures("database")

ODD = "a\u2028b\u2029c\u0085d\ufeff\ufffd🙂\U0010ffff\x01\x7f\x1f\t\r\n\\u0000 \"'\\ \u200b\u0301ß"


def counts() -> tuple[int, int]:
    with operator_scope():
        return Response.objects.count(), Item.objects.count()


def test_get_tells_the_snapshot_that_was_finished(friend_tenant: Tenant) -> None:
    call = {
        "type": "function_call",
        "id": "fc_1",
        "status": "completed",
        "call_id": "call_1",
        "name": "f",
        "arguments": '{"a": 1}',
    }
    job = job_of(
        friend_tenant,
        instructions="Be kind",
        temperature=0.25,
        metadata={"a": "b"},
        tools=[{"type": "function", "name": "f", "parameters": {"type": "object"}}],
        text={"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
        reasoning={"effort": "low"},
        service_tier="flex",
        safety_identifier="me",
    )
    outcome = ended(job, said("Hello"), call)
    finish([outcome])
    found = retrieve(friend_tenant.id, job.response_id)
    assert found == outcome.snapshot
    assert_response(found)


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ("incomplete", {"incomplete_details": {"reason": "content_filter"}}),
        ("failed", {"error": {"code": "worker_lost", "message": "Lost."}}),
        ("cancelled", {}),
    ],
)
def test_every_end_is_kept(status: str, fields: dict[str, dict[str, str]], friend_tenant: Tenant) -> None:
    outcome = ended(job_of(friend_tenant), said("Hal", "incomplete"), status=status, **fields)
    finish([outcome])
    assert retrieve(friend_tenant.id, outcome.job.response_id) == outcome.snapshot


def test_text_keeps_every_odd_character(friend_tenant: Tenant) -> None:
    job = job_of(friend_tenant, ODD, instructions=ODD, metadata={"odd": ODD})
    outcome = ended(job, said(ODD))
    finish([outcome])
    assert decode(encode(retrieve(friend_tenant.id, job.response_id))) == outcome.snapshot
    (item,) = input_items(friend_tenant.id, job.response_id, Page())["data"]
    assert item["content"][0]["text"] == ODD


def test_numbers_and_deep_values_can_be_told_again(friend_tenant: Tenant) -> None:
    odd = {"type": "acme:thing", "deep": [[{"a": [1, 1.5, 1e300, -1e25, 2**63, -0.1, True, None, {}]}]]}
    job = job_of(friend_tenant, [odd, {"role": "user", "content": "x"}])
    finish([ended(job)])
    item = input_items(friend_tenant.id, job.response_id, Page(order="asc"))["data"][0]
    assert encode(item["deep"]) == encode(odd["deep"])


def test_the_second_end_of_a_response_changes_nothing(friend_tenant: Tenant) -> None:
    first = ended(job_of(friend_tenant), said("first"))
    second = ended(
        first.job, said("second"), said("third"), status="failed", error={"code": "c", "message": "m"}
    )
    assert finish([first]) == {first.job.response_id}
    assert finish([second]) == set()
    assert retrieve(friend_tenant.id, first.job.response_id) == first.snapshot
    assert counts() == (1, 2)


def test_what_was_ended_before_does_not_hinder_the_others(friend_tenant: Tenant) -> None:
    old, new = (ended(job_of(friend_tenant), said(text)) for text in ("old", "new"))
    finish([old])
    assert finish([old, new]) == {new.job.response_id}
    assert counts() == (2, 4)


def test_several_tenants_in_one_call_each_get_their_own(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    outcomes = [
        ended(job_of(tenant), said(tenant.name))
        for tenant in (friend_tenant, stranger_tenant, friend_tenant, stranger_tenant)
    ]
    assert finish(outcomes) == {outcome.job.response_id for outcome in outcomes}
    for tenant in (friend_tenant, stranger_tenant):
        with tenant_scope(tenant.id):
            assert Response.objects.count() == 2
            assert {item.data["content"][0]["text"] for item in Item.objects.filter(is_output=True)} == {
                tenant.name
            }


def test_a_tenants_ended_responses_share_one_statement(friend_tenant: Tenant) -> None:
    with CaptureQueriesContext(connection) as one:
        finish([ended(job_of(friend_tenant), said("x"))])
    with CaptureQueriesContext(connection) as many:
        finish([ended(job_of(friend_tenant), said("x")) for _ in range(20)])
    assert len(many) == len(one)


def test_a_response_and_its_items_are_stored_together_or_not_at_all(friend_tenant: Tenant) -> None:
    taken = ended(job_of(friend_tenant), said("x"))
    finish([taken])
    clash = ended(job_of(friend_tenant), deepcopy(taken.snapshot["output"][0]))
    with pytest.raises(DatabaseError):
        finish([clash])
    assert counts() == (1, 2)


def test_nothing_to_store_is_nothing(friend_tenant: Tenant) -> None:
    assert finish([]) == set()
    finish([ended(job_of(friend_tenant, None, previous_response_id="resp_x"))])
    assert counts() == (1, 0)


def test_a_long_answer_of_many_items_is_kept_in_order(friend_tenant: Tenant) -> None:
    output = [said(f"{number} " + "x" * 1000) for number in range(200)]
    outcome: Outcome = ended(job_of(friend_tenant, [{"role": "user", "content": "x"}] * 50), *output)
    finish([outcome])
    assert retrieve(friend_tenant.id, outcome.job.response_id)["output"] == output
