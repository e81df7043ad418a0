"""What is told of one response beyond its conversation: its chain, its events, its account, its decisions, its file."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from responses_api.admin.accounts import account_of, money
from responses_api.admin.decisions import decisions_of
from responses_api.models import Response
from responses_api.protocol.plain import Json
from responses_api.services import family as families
from responses_api.services.browse import Question
from responses_api.services.export import pages_of
from responses_api.services.family import family_of
from tenants.models import AuditEvent, Tenant, UsageRecord
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.admin.people import person_of
from tests.integration.admin.stored import RESPONSES, answer, page_of, store


def html(client: Client, path: str) -> str:
    answered = client.get(path)
    assert answered.status_code == 200
    return answered.content.decode()


def tree(tenant: Tenant, response_id: str) -> list[tuple[str, int]]:
    with tenant_scope(tenant.id):
        told = family_of(Response.objects.get(id=response_id))
    return [(one.id, one.depth) for one in told.relatives]


def after(tenant: Tenant, previous: str) -> str:
    return store(tenant, {"previous_response_id": previous}, answer("Yes."))


def test_servers_of_a_request_are_told_apart(operator: Client, friend: Tenant) -> None:
    servers = {label: f"https://{label}.example/mcp" for label in ("sums", "dice")}
    tools = [{"type": "mcp", "server_label": label, "server_url": url} for label, url in servers.items()]
    page = html(operator, page_of(store(friend, {"tools": tools}, answer("Yes."))))
    for label, url in servers.items():
        assert f'<strong>{label}</strong> <span class="quiet">{url}</span>' in page


def test_attempts_are_workers_and_not_calls_of_a_backend(operator: Client, friend: Tenant) -> None:
    page = html(operator, page_of(store(friend, None, answer("Yes."))))
    assert "<dt>workers that took it up</dt><dd>1</dd>" in page


def test_a_chain_is_a_tree_with_its_forks(operator: Client, friend: Tenant) -> None:
    first = store(friend)
    second = after(friend, first)
    fork = after(friend, first)
    of_fork = after(friend, fork)
    third = after(friend, second)
    assert tree(friend, third) == [(first, 0), (fork, 1), (of_fork, 1), (second, 0), (third, 0)]
    assert tree(friend, of_fork) == [(first, 0), (second, 1), (third, 1), (fork, 0), (of_fork, 0)]
    page = html(operator, page_of(third))
    assert all(f'href="{page_of(one)}"' in page for one in (first, second, fork, of_fork))
    assert f"<strong>{third}</strong>" in page


def test_a_chain_whose_beginning_was_deleted_says_so(operator: Client, friend: Tenant) -> None:
    first = store(friend)
    second = after(friend, first)
    with tenant_scope(friend.id):
        Response.objects.filter(id=first).delete()
    page = html(operator, page_of(second))
    assert f"continuing {first}, which is not stored any more" in page


def test_a_long_or_wide_chain_is_told_in_part_with_the_same_queries(
    operator: Client, friend: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = store(friend)
    first = last = store(friend)
    line = [last]
    for _ in range(12):
        last = after(friend, last)
        line.append(last)
    for _ in range(12):
        after(friend, first)

    def cost(response_id: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            html(operator, page_of(response_id))
        return len(captured)

    assert cost(last) == cost(alone)
    monkeypatch.setattr(families, "MOST", 5)
    told = tree(friend, last)
    assert (last, 0) in told
    assert [one for one, _ in told if one in line] == line[-6:]
    assert "larger than what is shown" in html(operator, page_of(last))
    assert len(tree(friend, first)) == 6


def test_a_chain_never_leads_to_another_tenant(friend: Tenant, stranger: Tenant) -> None:
    first = store(friend)
    foreign = store(stranger)
    with operator_scope():
        Response.objects.filter(id=foreign).update(previous_id=first)
    assert tree(friend, first) == [(first, 0)]
    assert tree(stranger, foreign) == [(foreign, 0)]


def test_events_are_told_in_their_order(operator: Client, friend: Tenant) -> None:
    response_id = store(friend, None, answer("<b>Hello</b> there."))
    page = html(operator, page_of(response_id).replace("change", "events"))
    places = [
        page.index(f"</span> {kind}")
        for kind in (
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.output_text.delta",
            "response.output_item.done",
            "response.completed",
        )
    ]
    assert places == sorted(places)
    assert "How its stream was cut was not written down" in page
    assert "&lt;b&gt;Hello&lt;/b&gt;" in page
    assert "<b>Hello" not in page
    assert 'src="/static/responses_admin/player.js"' in page


def test_many_events_come_a_page_at_a_time(
    operator: Client, friend: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("responses_api.admin.telling.WINDOW", 4)
    path = page_of(store(friend, None, answer("Hi."))).replace("change", "events")
    first, second = html(operator, path), html(operator, f"{path}?from=4")
    assert "response.created" in first
    assert "?from=4" in first
    assert "Earlier events" not in first
    assert "?from=0" in second
    assert first.count("<details>") == second.count("<details>") == 4
    for odd in ("x", "-1", "99999999999999", "1e3"):
        assert "response.created" in html(operator, f"{path}?from={odd}")
    assert "There are no events from number 900 on" in html(operator, f"{path}?from=900")


LINE: Json = {
    "model": "stub",
    "status": "completed",
    "input_tokens": 1000,
    "cached_tokens": 400,
    "output_tokens": 200,
    "reasoning_tokens": 50,
    "input_price": 2_500_000_000,
    "cached_input_price": 250_000_000,
    "output_price": 10_000_000_000,
    "cost_nanos": 3_600_000,
    "reserved_tokens": 2024,
    "reserved_nanos": 12_740_000,
    "created_at": 1,
    "ended_at": 2,
}


def test_the_account_adds_up(operator: Client, friend: Tenant) -> None:
    response_id = store(friend)
    with tenant_scope(friend.id):
        UsageRecord.objects.update_or_create(
            response_id=response_id, defaults={"tenant": friend, "key_id": friend.id, **LINE}
        )
    page = html(operator, page_of(response_id))
    for told in (
        "Reserved before it began: 2,024 tokens and 0.01274 USD.",
        "<td>600</td><td>× 2.50 USD a million</td><td>0.0015 USD</td>",
        "<td>400</td><td>× 0.25 USD a million</td><td>0.0001 USD</td>",
        "output, 50 of them reasoning",
        "<td>200</td><td>× 10.00 USD a million</td><td>0.002 USD</td>",
        "<td>1,200</td><td></td><td>0.0036 USD</td>",
        "Settled at its end: 824 tokens given back, 0.00914 USD given back.",
    ):
        assert told in page, told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"reserved_tokens": 0, "reserved_nanos": 0}, "Nothing was reserved"),
        ({"reserved_tokens": 1100}, "100 tokens taken beyond what was reserved"),
        ({"reserved_tokens": 1200, "reserved_nanos": 0}, "exactly the reserved tokens"),
        ({"is_estimated": True}, "The backend told no usage"),
    ],
)
def test_the_account_says_what_became_of_the_reservation(change: Json, told: str) -> None:
    account = account_of(UsageRecord(**{**LINE, **change}))
    assert told in f"{account.reserved} {account.settled} {account.note}"


def test_money_is_exact() -> None:
    assert money(0) == "0.00 USD"
    assert money(1) == "0.000000001 USD"
    assert money(1_234_567_000_000_000) == "1,234,567.00 USD"


def test_policy_decisions_are_sentences(operator: Client, friend: Tenant) -> None:
    response_id = store(friend)
    why = "Rule 'no-mail' of the tenant's policy, version 3, denies functions named 'mail*'."
    verdict = {"effect": "deny", "policy": "tenant", "version": 3, "rule": "no-mail", "why": why}
    decisions = [
        {"tool": "<b>mail_all</b>", "call_id": "call_1", **verdict},
        {"tool": "look_up", "call_id": "call_2", **verdict, "effect": "allow", "why": "It may."},
    ]
    with tenant_scope(friend.id):
        Response.objects.filter(id=response_id).update(policy_decisions=decisions)
    page = html(operator, page_of(response_id))
    assert "&lt;b&gt;mail_all&lt;/b&gt; was refused. Rule &#x27;no-mail&#x27; of the tenant" in page
    assert "look_up was allowed. It may." in page


@pytest.mark.parametrize("stored", [None, [], {}, "x", [1, {"odd": True}]])
def test_decisions_of_any_form_can_be_shown(stored: Any) -> None:
    assert all(decision.sentence for decision in decisions_of(stored))


def test_one_response_is_exported_whole_and_noted(friend: Tenant) -> None:
    response_id = store(friend, {"metadata": {"a": "b"}, "input": "Hi"}, answer("Hello"))
    answered = person_of(friend, "member").get(page_of(response_id).replace("change", "json"))
    assert answered.headers["Content-Disposition"] == f'attachment; filename="{response_id}.json"'
    assert "no-store" in answered.headers["Cache-Control"]
    told = json.loads(answered.content)
    assert told["id"] == response_id
    assert told["request"]["metadata"] == {"a": "b"}
    assert told["input"][0]["content"][0]["text"] == "Hi"
    assert told["output"][0]["content"][0]["text"] == "Hello"
    with operator_scope():
        event = AuditEvent.objects.get()
    assert (event.action, event.subject, event.tenant_id) == ("response.exported", response_id, friend.id)


def lines(client: Client, query: str) -> list[Json]:
    answered: Any = client.get(f"{RESPONSES}export/{query}")
    assert answered.status_code == 200
    return [json.loads(line) for line in b"".join(answered).splitlines()]


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
class TestManyAreExported:
    """Committed data: what is sent is read by other threads than the view's."""

    def test_the_list_as_lines_each_in_its_scope(
        self, friend_tenant: Tenant, stranger_tenant: Tenant
    ) -> None:
        mine = [store(friend_tenant, {"model": model}) for model in ("a", "b", "a")]
        foreign = store(stranger_tenant, {"model": "a"})
        member = person_of(friend_tenant, "member")
        assert [line["id"] for line in lines(member, "")] == mine[::-1]
        assert [line["id"] for line in lines(member, "?model=a")] == [mine[2], mine[0]]
        assert lines(member, f"?q={foreign}") == lines(member, f"?q={foreign[:30]}") == []

    def test_selected_ones(self, friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
        mine, _, foreign = store(friend_tenant), store(friend_tenant), store(stranger_tenant)
        form: Json = {"action": "export_selected", "_selected_action": [mine, foreign]}
        answered: Any = person_of(friend_tenant, "member").post(RESPONSES, form)
        assert [json.loads(line)["id"] for line in b"".join(answered).splitlines()] == [mine]

    def test_more_than_a_page_and_no_more_than_the_most(
        self, friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ids = [store(friend_tenant) for _ in range(7)]
        member = person_of(friend_tenant, "member")
        monkeypatch.setattr("responses_api.services.export._PAGE", 2)
        assert [line["id"] for line in lines(member, "")] == ids[::-1]
        monkeypatch.setattr("responses_api.services.export.MOST", 5)
        told = lines(member, "")
        assert [line["id"] for line in told[:-1]] == ids[:1:-1]
        assert told[-1] == {"truncated": True, "before": ids[2]}

    async def test_an_export_without_a_scope_is_a_fault(self) -> None:
        with pytest.raises(RuntimeError):
            async for _ in pages_of(Question()):
                pass


def test_a_question_with_a_fault_is_not_exported(operator: Client, friend: Tenant) -> None:
    store(friend)
    answered = operator.get(f"{RESPONSES}export/?q=hello")
    assert answered.status_code == 302
    assert answered.headers["Location"] == f"{RESPONSES}?q=hello"


def test_the_backend_options_of_a_request_are_among_its_settings(operator: Client, friend: Tenant) -> None:
    page = html(operator, page_of(store(friend, {"antiphon:backend_options": {"top_k": 40}})))
    assert "backend_options" in page
    assert "&quot;top_k&quot;: 40" in page
