"""Limits that are set, changed and taken away while responses run: what is counted stays right."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail

from tenants import keys
from tenants.models import Limit, Membership, Tenant
from tenants.scoping import operator_scope
from tests.integration.quotas.conftest import SetLimit, open_reservations, rows, standings
from tests.integration.quotas.test_limits import wait_for_a_fresh_minute
from tests.support.chat import chat_stream
from tests.support.client import Client, wait_until
from tests.support.upstream import ScriptedUpstream

BODY = chat_stream("first", " second", usage=(1000, 50))
Begin = Callable[[], Callable[[], None]]


def change(limit: Limit, **fields: Any) -> None:
    """Change a limit, which every process knows of at once."""
    with operator_scope():
        Limit.objects.filter(id=limit.id).update(**fields)
    keys.forget()


def take_away(limit: Limit) -> None:
    """As `change`."""
    with operator_scope():
        Limit.objects.filter(id=limit.id).delete()
    keys.forget()


@pytest.fixture
def running(friend: Client, upstream: ScriptedUpstream) -> Begin:
    """Begins a response that waits in its middle; what that gives lets it go on to its end."""

    def begin() -> Callable[[], None]:
        upstream.reply(body=BODY, pause_at=BODY.index(b" second") - 40)
        exchange = friend.stream(input="Hello", max_output_tokens=100)
        exchange.read_event("response.output_text.delta")
        request = upstream.requests()[-1]

        def go_on() -> None:
            request.wait_paused()
            request.resume()
            exchange.read_all()
            exchange.close()

        return go_on

    return begin


def test_a_limit_of_places_that_is_lowered_and_raised_holds_from_the_next_request_on(
    friend: Client, friend_tenant: Tenant, set_limit: SetLimit, running: Begin
) -> None:
    limit = set_limit("concurrent_responses", 2)
    go_on = running()
    change(limit, amount=1)
    assert friend.create(input="Hello").error["code"] == "concurrency_exceeded"
    change(limit, amount=0)
    assert standings(friend_tenant)["concurrent_responses"].reserved == 1
    change(limit, amount=2)
    go_on()
    assert friend.create(input="Hello").status == 200
    wait_until(lambda: not open_reservations(friend_tenant.id), timeout=10, what="the end")
    assert standings(friend_tenant)["concurrent_responses"].reserved == 0


def test_a_limit_set_while_a_response_runs_that_reserved_nothing_counts_it_when_it_ends(
    friend_tenant: Tenant, set_limit: SetLimit, running: Begin
) -> None:
    go_on = running()
    set_limit("tokens_per_day", 100_000)
    assert standings(friend_tenant)["tokens_per_day"].used == 0
    go_on()
    wait_until(rows, timeout=10, what="its row")
    wait_until(
        lambda: standings(friend_tenant)["tokens_per_day"].used == 1_050, timeout=10, what="its tokens"
    )


def test_another_limit_set_while_one_holds_a_reservation_knows_of_it(
    friend_tenant: Tenant, set_limit: SetLimit, running: Begin
) -> None:
    set_limit("tokens_per_day", 100_000)
    go_on = running()
    set_limit("cost_per_month", 10**12)
    set_limit("concurrent_responses", 1)
    held = standings(friend_tenant)
    assert held["concurrent_responses"].reserved == 1
    assert held["cost_per_month"].reserved == (held["tokens_per_day"].reserved - 100) * 1000 + 100 * 2000
    go_on()
    wait_until(lambda: not open_reservations(friend_tenant.id), timeout=10, what="the end")
    left = standings(friend_tenant)
    assert (left["tokens_per_day"].used, left["cost_per_month"].used) == (1_050, 1_100_000)
    assert left["concurrent_responses"].reserved == 0


def test_a_limit_taken_away_and_set_again_while_a_response_runs_has_lost_nothing(
    friend: Client, friend_tenant: Tenant, set_limit: SetLimit, running: Begin
) -> None:
    limit = set_limit("tokens_per_day", 100_000)
    go_on = running()
    take_away(limit)
    assert friend.create(input="Hello").status == 200
    between = rows()[-1]
    go_on()
    wait_until(lambda: len(rows()) == 2, timeout=10, what="both rows")
    wait_until(lambda: not open_reservations(friend_tenant.id), timeout=10, what="the end")
    set_limit("tokens_per_day", 100_000)
    used = 1_050 + between["input_tokens"] + between["output_tokens"]
    assert standings(friend_tenant)["tokens_per_day"].used == used


def test_a_soft_limit_becomes_hard_at_once(
    friend: Client, friend_tenant: Tenant, set_limit: SetLimit
) -> None:
    limit = set_limit("tokens_per_day", 0, is_hard=False)
    assert friend.create(input="Hello").status == 200
    change(limit, is_hard=True)
    refused = friend.create(input="Hello")
    assert (refused.status, refused.error["code"]) == (429, "quota_exceeded")


def test_a_soft_limit_of_nothing_is_reached_by_the_first_request_and_its_owners_get_one_mail(
    friend: Client, friend_tenant: Tenant, stranger_tenant: Tenant, set_limit: SetLimit
) -> None:
    people = {
        "owner": friend_tenant,
        "second-owner": friend_tenant,
        "member": friend_tenant,
        "stranger": stranger_tenant,
    }
    with operator_scope():
        for name, tenant in people.items():
            role = "member" if name == "member" else "owner"
            user = User.objects.create_user(name, f"{name}@example.com")
            Membership.objects.create(tenant=tenant, user=user, role=role)
    wait_for_a_fresh_minute()
    set_limit("requests_per_minute", 0, is_hard=False)
    set_limit("cost_per_day", 0, is_hard=False, model=friend.model)
    assert [friend.create(input="Hello, my secret").status for _ in range(3)] == [200] * 3
    wait_until(lambda: len(mail.outbox) == 2, timeout=10, what="the mails")
    assert sorted(message.to for message in mail.outbox) == [
        ["owner@example.com"],
        ["second-owner@example.com"],
    ]
    for message in mail.outbox:
        assert message.subject.endswith("A soft limit was reached: friend")
        assert "* 0 requests per minute of the tenant\n" in str(message.body)
        assert f"* 0.00 USD per day of the tenant, for the model '{friend.model}'\n" in str(message.body)
        assert "secret" not in str(message.body)
