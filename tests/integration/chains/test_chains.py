"""The context that a response continues: its chain, oldest first, whole or not at all."""

import re
import tracemalloc

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from responses_api import chains
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.services.finish import finish
from responses_api.services.identity import new_id
from responses_api.services.stored import delete
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.builders import ended, job_of, said, stored

pytestmark = pytest.mark.usefixtures("database")


def load(tenant: Tenant, response_id: str) -> list[Json]:
    with tenant_scope(tenant.id):
        return chains.load_context(response_id)


def texts(items: list[Json]) -> list[str]:
    return [part["text"] for item in items for part in item["content"]]


def refusal(tenant: Tenant, response_id: str) -> Json:
    with pytest.raises(ProtocolError) as refused:
        load(tenant, response_id)
    return {**refused.value.to_plain(), "message": refused.value.message.replace(f"'{response_id}'", "<id>")}


def ended_as(tenant: Tenant, status: str, **fields: Json) -> str:
    outcome = ended(job_of(tenant), said("Half a", "incomplete"), status=status, **fields)
    finish([outcome])
    return outcome.job.response_id


def test_items_come_oldest_first_inputs_before_outputs(friend_tenant: Tenant) -> None:
    inputs = [{"role": "developer", "content": "1"}, {"role": "user", "content": "2"}]
    first = stored(friend_tenant, inputs, "3")
    second = stored(friend_tenant, "4", "5", previous_response_id=first["id"])
    third = stored(friend_tenant, "6", "7", previous_response_id=second["id"])
    assert texts(load(friend_tenant, third["id"])) == list("1234567")
    assert texts(load(friend_tenant, first["id"])) == list("123")


def test_a_fork_sees_its_own_branch_only(friend_tenant: Tenant) -> None:
    root = stored(friend_tenant, "root", "r")
    left = stored(friend_tenant, "left", "l", previous_response_id=root["id"])
    right = stored(friend_tenant, "right", "r2", previous_response_id=root["id"])
    assert texts(load(friend_tenant, left["id"])) == ["root", "r", "left", "l"]
    assert texts(load(friend_tenant, right["id"])) == ["root", "r", "right", "r2"]


def test_a_response_without_items_does_not_break_the_chain(friend_tenant: Tenant) -> None:
    first = stored(friend_tenant, "1", "2")
    silent = ended(job_of(friend_tenant, "3", previous_response_id=first["id"]))
    finish([silent])
    last = stored(friend_tenant, "4", "5", previous_response_id=silent.job.response_id)
    assert texts(load(friend_tenant, last["id"])) == list("12345")


def test_three_hundred_turns_cost_as_many_queries_as_three(friend_tenant: Tenant) -> None:
    ids: list[str] = []
    outcomes = []
    for turn in range(300):
        job = job_of(friend_tenant, str(turn), previous_response_id=ids[-1] if ids else None)
        ids.append(job.response_id)
        outcomes.append(ended(job, said(f"answer {turn}")))
    assert finish(outcomes) == set(ids)
    with CaptureQueriesContext(connection) as few:
        assert len(load(friend_tenant, ids[2])) == 6
    with CaptureQueriesContext(connection) as many:
        context = load(friend_tenant, ids[-1])
    assert texts(context)[::2] == [str(turn) for turn in range(300)]
    assert len(many) == len(few)


@pytest.mark.parametrize("hole", [0, 1, 2])
def test_a_chain_with_a_hole_cannot_be_continued(hole: int, friend_tenant: Tenant) -> None:
    ids: list[str] = []
    for turn in range(4):
        previous = ids[-1] if ids else None
        ids.append(stored(friend_tenant, str(turn), previous_response_id=previous)["id"])
    delete(friend_tenant.id, ids[hole])
    assert refusal(friend_tenant, ids[-1])["code"] == "previous_response_not_found"
    other = stored(friend_tenant)["id"]
    assert load(friend_tenant, other)


def test_all_that_cannot_be_continued_looks_alike(friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
    error = {"code": "upstream_error", "message": "Cut."}
    deleted = stored(friend_tenant)["id"]
    delete(friend_tenant.id, deleted)
    unknown = refusal(friend_tenant, "resp_unknown")
    assert (unknown["status"], unknown["type"]) == (400, "invalid_request")
    assert unknown["code"] == "previous_response_not_found"
    assert unknown["param"] == "previous_response_id"
    for response_id in (
        stored(stranger_tenant)["id"],
        deleted,
        ended_as(friend_tenant, "failed", error=error),
        ended_as(friend_tenant, "cancelled"),
        "",
        "x" * 5000,
    ):
        assert refusal(friend_tenant, response_id) == unknown


def test_an_incomplete_response_can_be_continued_and_only_by_its_tenant(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    cut = ended_as(friend_tenant, "incomplete", incomplete_details={"reason": "max_output_tokens"})
    last = stored(friend_tenant, "Go on", "lot", previous_response_id=cut)["id"]
    assert texts(load(friend_tenant, last)) == ["Hello", "Half a", "Go on", "lot"]
    assert refusal(stranger_tenant, cut)["code"] == "previous_response_not_found"


def test_a_link_to_another_tenants_response_leads_nowhere(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    strangers = stored(stranger_tenant)["id"]
    mine = stored(friend_tenant, previous_response_id=strangers)["id"]
    assert refusal(friend_tenant, mine)["code"] == "previous_response_not_found"


def test_a_context_above_the_limit_is_refused_before_it_leaves_the_database(
    friend_tenant: Tenant, settings: Settings
) -> None:
    first = stored(friend_tenant, "x" * 5_000_000)["id"]
    last = stored(friend_tenant, "short", previous_response_id=first)["id"]
    settings.MAX_CONTEXT_BYTES = 1_000_000
    tracemalloc.start()
    try:
        with CaptureQueriesContext(connection) as refused_at:
            refused = refusal(friend_tenant, last)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (refused["status"], refused["type"]) == (400, "invalid_request")
    assert (refused["code"], refused["param"]) == ("context_length_exceeded", "previous_response_id")
    assert "1000000" in refused["message"]
    assert most < 1_000_000
    settings.MAX_CONTEXT_BYTES = 6_000_000
    with CaptureQueriesContext(connection) as taken_at:
        assert texts(load(friend_tenant, last))[2] == "short"
    assert len(refused_at) == len(taken_at)


def test_a_chain_with_a_hole_cannot_be_continued_whatever_its_size(
    friend_tenant: Tenant, settings: Settings
) -> None:
    first = stored(friend_tenant, "x" * 5000)["id"]
    last = stored(friend_tenant, "y" * 5000, previous_response_id=first)["id"]
    delete(friend_tenant.id, first)
    settings.MAX_CONTEXT_BYTES = 100
    assert refusal(friend_tenant, last)["code"] == "previous_response_not_found"


def test_a_call_that_was_cut_short_is_no_part_of_what_follows(friend_tenant: Tenant) -> None:
    cut = {
        "type": "function_call",
        "id": new_id("fc"),
        "call_id": "call_1",
        "name": "f",
        "arguments": '{"x": [1,',
        "status": "incomplete",
    }
    whole = {**cut, "id": new_id("fc"), "call_id": "call_2", "arguments": "{}", "status": "completed"}
    outcome = ended(job_of(friend_tenant), cut, whole, status="incomplete")
    finish([outcome])
    context = load(friend_tenant, outcome.job.response_id)
    assert [item["call_id"] for item in context if item["type"] == "function_call"] == ["call_2"]


def test_a_chain_is_read_by_its_keys_however_much_else_the_tenant_has_and_without_statistics(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    finish([ended(job_of(friend_tenant), said("noise")) for _ in range(400)])
    finish([ended(job_of(stranger_tenant), said("noise")) for _ in range(50)])
    last = None
    for _ in range(3):
        last = stored(friend_tenant, "ask", "answer", previous_response_id=last and last["id"])
    assert last is not None
    with tenant_scope(friend_tenant.id), CaptureQueriesContext(connection) as queries:
        chains.load_context(last["id"])
    (query,) = [entry["sql"] for entry in queries if "RECURSIVE" in entry["sql"]]
    with tenant_scope(friend_tenant.id), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}")
        plan = str(cursor.fetchone())
    assert "Seq Scan" not in plan
    read = [int(rows) for rows in re.findall(r"'Actual Rows': (\d+)", plan)]
    assert max(read) <= len(load(friend_tenant, last["id"]))
