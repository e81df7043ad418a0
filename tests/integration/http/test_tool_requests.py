"""Requests with tools that the service runs: what is refused before anything is done, and what is kept of them."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from responses_api.eventlog import names
from responses_api.eventlog.connection import blocking_client
from responses_api.models import Backend, Response, Route
from responses_api.protocol.job import Job
from responses_api.sealing import seal_tool_secrets
from responses_api.services import rescue, routing
from responses_api.services.approvals import claim
from responses_api.services.background import job_of_row
from responses_api.services.finish import finish, open_row
from responses_api.services.identity import new_id
from responses_api.services.running import running_snapshot
from responses_api.services.tool_secrets import opened_secrets
from tenants.models import Tenant
from tenants.scoping import operator_scope
from tests.integration.builders import ended, job_of, said
from tests.integration.fixtures import MODEL
from tests.integration.http.test_tool_policies import put_policy
from tests.support.chat import chat_stream
from tests.support.checks import checked_response
from tests.support.client import Client, Json, wait_until
from tests.support.upstream import ScriptedUpstream

VALKEY: Any = blocking_client()
SECRET = "sk-very-secret-indeed"
DOCS: Json = {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example/x"}
CLOSED: Json = {
    **DOCS,
    "server_url": f"https://mcp.example/x?token={SECRET}",
    "headers": {"X-Key": SECRET},
    "authorization": SECRET,
}
USER: Json = {"role": "user", "content": "hi"}
RAN: Json = {
    "type": "mcp_call",
    "id": "mcp_1",
    "server_label": "docs",
    "name": "read",
    "arguments": '{"page": 1}',
    "output": "Herons wade.",
}
ASKED: Json = {
    "type": "mcp_approval_request",
    "id": "mcpr_1",
    "server_label": "docs",
    "name": "read",
    "arguments": "{}",
}


def answered(approve: bool = True, request_id: str = "mcpr_1") -> Json:
    return {"type": "mcp_approval_response", "approval_request_id": request_id, "approve": approve}


# ---------------------------------------------------------------- refused beforehand


@pytest.mark.parametrize(
    ("fields", "param", "fault"),
    [
        (
            {"tools": [{**DOCS, "server_url": "http://169.254.169.254/latest"}]},
            "tools[0].server_url",
            "leads nowhere",
        ),
        (
            {"tools": [{**DOCS, "server_url": "https://169.254.169.254/x"}]},
            "tools[0].server_url",
            "leads nowhere",
        ),
        (
            {"tools": [{**DOCS, "server_url": "https://[::ffff:10.0.0.1]/"}]},
            "tools[0].server_url",
            "leads nowhere",
        ),
        ({"tools": [{**DOCS, "connector_id": "connector_gmail"}]}, "tools[0].connector_id", "no connectors"),
        (
            {"tools": [{"type": "file_search", "vector_store_ids": ["vs"]}]},
            "tools[0].type",
            "antiphon:file_search",
        ),
        ({"tools": [{"type": "acme:dice"}]}, "tools[0].type", "are not offered"),
        (
            {"tools": [{"type": "antiphon:file_search", "max_num_results": 0}]},
            "tools[0].max_num_results",
            "at least 1",
        ),
        ({"tools": [{"type": "antiphon:file_search", "file_ids": [5]}]}, "tools[0].file_ids[0]", "a string"),
        ({"input": [USER, {"type": "file_search_call", "queries": 5}]}, "input[1]", "'queries'"),
        ({"input": [USER, {"type": "antiphon:thing"}]}, "input[1].type", "no item of this service"),
        ({"input": [answered()], "tools": [DOCS]}, "input[0].approval_request_id", "must name"),
        ({"input": [ASKED, answered()]}, "input[1].approval_request_id", "not among the request's 'tools'"),
        (
            {"input": [ASKED, answered(), answered(False)], "tools": [DOCS]},
            "input[2].approval_request_id",
            "answered before",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_done(
    fields: Json, param: str, fault: str, untouched: Client
) -> None:
    answer = untouched.create(**{"input": "hi", **fields})
    assert answer.status == 400, answer.body
    assert (answer.error["param"], fault in answer.error["message"]) == (param, True), answer.error


def test_a_server_that_the_policy_denies_is_refused_and_where_it_says_so_left_out(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    rule = {"id": "no-docs", "effect": "deny", "kind": "mcp", "server": "https://mcp.example"}
    put_policy(friend_tenant, rule, on_violation="fail", hosted_tools=False)
    for tool, who in ((DOCS, "no-docs"), ({"type": "antiphon:file_search"}, "switches tools")):
        refused = friend.create(input="hi", tools=[tool])
        assert (refused.status, refused.error["param"]) == (403, "tools[0]")
        assert who in refused.error["message"]
    assert upstream.requests() == []


# ---------------------------------------------------------------- secrets


def kept_everywhere() -> str:
    """All that the database and Valkey hold, as text."""
    with operator_scope(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        rows = []
        for (table,) in cursor.fetchall():
            cursor.execute(f"""SELECT string_agg(t::text, ' ') FROM "{table}" t""")
            rows.append(str(cursor.fetchone()[0]))
    return " ".join(rows + [held_under(key) for key in VALKEY.keys("*")])


def held_under(key: bytes) -> str:
    """What Valkey holds under a key, whatever it is, as text."""
    readers: dict[bytes, Callable[[], Any]] = {
        b"string": lambda: VALKEY.get(key),
        b"hash": lambda: VALKEY.hgetall(key),
        b"list": lambda: VALKEY.lrange(key, 0, -1),
        b"set": lambda: VALKEY.smembers(key),
        b"zset": lambda: VALKEY.zrange(key, 0, -1),
        b"stream": lambda: VALKEY.xrange(key),
        b"none": lambda: "",
    }
    return str(readers[VALKEY.type(key)]())


def waiting_with_secrets(tenant: Tenant) -> Job:
    """A background response that has not ended, with what its tools need, sealed."""
    job = job_of(tenant, background=True, tools=[DOCS])
    secrets = {"docs": {"headers": {"X-Key": SECRET}, "authorization": None, "query": None}}
    sealed = seal_tool_secrets(secrets, tenant_id=job.tenant_id, response_id=job.response_id)
    job = replace(job, sealed_secrets=sealed)
    open_row(job, running_snapshot(job, "queued"))
    return job


def row_of(job: Job) -> Any:
    with operator_scope():
        return Response.objects.get(id=job.response_id)


def test_what_gets_tools_in_is_kept_nowhere_in_the_clear(
    friend: Client, upstream: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    key = f"key-{uuid.uuid4()}"
    body = {"model": MODEL, "input": "hi", "tools": [CLOSED], "stream": True, "service_tier": "flex"}
    with friend.open("POST", "/responses", body, {"Idempotency-Key": key}):
        # It waits: nobody works for this queue.
        (envelope,) = wait_until(
            lambda: [
                held for key in VALKEY.keys(names.job("*")) if "mcp.example" in (held := held_under(key))
            ],
            timeout=5,
            what="the job",
        )
        assert SECRET not in kept_everywhere()
        assert '"sealed_secrets":"' in envelope
        assert SECRET not in caplog.text


def test_the_response_echoes_its_server_without_them(friend: Client, upstream: ScriptedUpstream) -> None:
    response = friend.create(input="hi", tools=[CLOSED]).json()
    canonical = {"server_description": None, "allowed_tools": None, "require_approval": "always"}
    assert response["tools"] == [{**DOCS, **canonical}]
    again = friend.get(f"/responses/{response['id']}")
    assert again.json()["tools"] == response["tools"]
    assert SECRET not in kept_everywhere()
    assert SECRET not in str(upstream.requests())


def test_another_secret_is_another_request_to_an_idempotency_key(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    key = {"Idempotency-Key": f"key-{uuid.uuid4()}"}

    def ask(authorization: str) -> int:
        body = {"model": MODEL, "input": "hi", "tools": [{**DOCS, "authorization": authorization}]}
        with friend.open("POST", "/responses", body, key) as exchange:
            return exchange.answer().status

    assert [ask(SECRET), ask(SECRET), ask("another")] == [200, 200, 409]
    assert SECRET not in kept_everywhere()


def test_a_background_response_keeps_them_sealed_until_it_ends(
    friend_tenant: Tenant, backend: Backend
) -> None:
    job = waiting_with_secrets(friend_tenant)
    assert SECRET not in kept_everywhere()
    again = job_of_row(row_of(job))
    assert opened_secrets(again)[0]["headers"] == {"X-Key": SECRET}
    outcome = ended(job, said("Done"))
    assert finish([outcome]) == {job.response_id}
    assert "sealed_secrets" not in str(row_of(job).score)
    assert str(job.sealed_secrets) not in kept_everywhere()


def test_a_rescued_response_has_them_again(friend_tenant: Tenant, backend: Backend) -> None:
    made = rescue.job_of_lost(row_of(waiting_with_secrets(friend_tenant)))
    assert opened_secrets(made)[0]["headers"] == {"X-Key": SECRET}


# ---------------------------------------------------------------- receipts and approvals


def told_to(upstream: ScriptedUpstream) -> list[Json]:
    messages: list[Json] = upstream.requests()[-1].body["messages"]
    return messages


def called(message: Json) -> list[tuple[str, str]]:
    calls = message.get("tool_calls") or ()
    return [(call["function"]["name"], call["function"]["arguments"]) for call in calls]


@pytest.mark.parametrize("spelling", ["mcp_call", "antiphon:mcp_call"])
def test_a_receipt_is_told_to_the_model_as_a_call_and_listed_as_it_was_sent(
    spelling: str, friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    response = checked_response(friend, friend.create(input=[USER, {**RAN, "type": spelling}, USER]).json())
    _, assistant, tool, _ = told_to(upstream)
    assert called(assistant) == [("read", '{"page": 1}')]
    assert tool["content"] == "Herons wade."
    address = f"/responses/{response['id']}/input_items?order=asc"
    _, listed, _ = friend.get(address).json()["data"]
    assert (listed["type"], listed["antiphon:sent_id"]) == (spelling, "mcp_1")
    assert listed["id"] != "mcp_1"
    assert stranger.get(address).status == 404


def chained(tenant: Tenant, *output: Json) -> str:
    """A stored response with these items."""
    outcome = ended(job_of(tenant), *output)
    assert finish([outcome]) == {outcome.job.response_id}
    return outcome.job.response_id


def receipt(**fields: Any) -> Json:
    told = {"error": None, "approval_request_id": None, "status": "completed"}
    return {**RAN, **told, "id": new_id("item"), **fields}


def test_a_chain_a_reference_and_a_compaction_have_their_receipts(
    friend: Client, friend_tenant: Tenant, stranger: Client, upstream: ScriptedUpstream
) -> None:
    kept = receipt(type="antiphon:mcp_call")
    previous = chained(friend_tenant, kept, said("Done"))
    for given in (
        {"input": "And?", "previous_response_id": previous},
        {"input": [{"type": "item_reference", "id": kept["id"]}, USER]},
    ):
        assert friend.create(**given).status == 200
        assert [call for message in told_to(upstream) for call in called(message)] == [
            ("read", '{"page": 1}')
        ]
        assert "Herons wade." in [message["content"] for message in told_to(upstream)]
        assert stranger.create(**given).status == 400
    upstream.reply(body=chat_stream("Herons."))
    window = friend.request("POST", "/responses/compact", {"model": MODEL, "previous_response_id": previous})
    assert window.status == 200
    assert "Herons wade." in str(told_to(upstream))
    assert "mcp_call" not in str(told_to(upstream))


def test_tokens_are_counted_of_what_a_receipt_stands_for(friend: Client) -> None:
    def count(**body: Any) -> int:
        answer = friend.request("POST", "/responses/input_tokens", {"model": MODEL, **body})
        assert answer.status == 200, answer.body
        return int(answer.json()["input_tokens"])

    call = {"type": "function_call", "call_id": "c", "name": "read", "arguments": RAN["arguments"]}
    output = {"type": "function_call_output", "call_id": "c", "output": RAN["output"]}
    assert count(input=[USER, RAN], tools=[CLOSED]) == count(input=[USER, call, output])


def test_old_turns_are_dropped_with_their_receipts(
    friend: Client, backend: Backend, upstream: ScriptedUpstream
) -> None:
    Route.objects.update(context_window=400)
    routing.read_models()
    turn = [USER, {**RAN, "output": "wade " * 400}, {"role": "assistant", "content": "Done."}]
    response = friend.create(input=[*turn, USER], truncation="auto").json()
    assert response["antiphon:truncation"]["dropped_turns"] == 1
    assert [message["role"] for message in told_to(upstream)] == ["user"]


def test_a_call_that_was_not_approved_is_told_with_its_reason(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    request = {**ASKED, "id": new_id("item"), "type": "antiphon:mcp_approval_request"}
    previous = chained(friend_tenant, request)
    answer = {**answered(False, request["id"]), "reason": "too dear"}
    assert friend.create(input=[answer], previous_response_id=previous).status == 200
    assert told_to(upstream)[-1]["content"] == "The call was not approved: too dear"


def test_an_approval_is_used_once_and_another_tenants_is_unknown(
    friend: Client, friend_tenant: Tenant, stranger: Client, stranger_tenant: Tenant
) -> None:
    request = {**ASKED, "id": new_id("item")}
    previous = chained(friend_tenant, request)
    body: dict[str, Any] = {"input": [answered(True, request["id"])], "tools": [DOCS]}
    assert stranger.create(**body, previous_response_id=previous).status == 400
    unknown = stranger.create(**body).error
    never = stranger.create(**{**body, "input": [answered(True, "mcpr_never")]}).error
    assert unknown["code"] == never["code"] == "approval_request_not_found"
    assert claim(stranger_tenant.id, request["id"], "resp_s")
    assert claim(friend_tenant.id, request["id"], "resp_f")
    used = friend.create(**body, previous_response_id=previous)
    assert (used.status, used.error["code"]) == (400, "approval_used")
    assert used.error["param"] == "input[0].approval_request_id"


def test_a_conversation_that_is_sent_again_may_hold_an_approval_that_was_used(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    claim(friend_tenant.id, "mcpr_1", "resp_f")
    ran = {**RAN, "approval_request_id": "mcpr_1"}
    response = friend.create(input=[USER, ASKED, answered(), ran, USER])
    assert response.status == 200, response.body
    assert [call for message in told_to(upstream) for call in called(message)] == [("read", '{"page": 1}')]
