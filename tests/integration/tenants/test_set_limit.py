"""`manage.py set_limit`, and the limits that a tenant begins with."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from tenants.keys import new_key
from tenants.limits import give_starting_limits
from tenants.models import AuditEvent, Limit, Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.support.tenants import make_tenant


@pytest.fixture
def friend(db: None) -> Tenant:
    """A tenant."""
    return make_tenant("friend")


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("set_limit", *arguments, stdout=out)
    return out.getvalue()


def limits() -> list[tuple[str, int, bool, str]]:
    with operator_scope():
        rows = Limit.objects.order_by("created_at")
        return [(row.metric, row.amount, row.is_hard, row.set_by) for row in rows]


def test_a_limit_is_set_and_then_changed(friend: Tenant) -> None:
    assert "Set: 60 requests per minute, hard" in run(
        "friend", "--metric", "requests_per_minute", "--amount", "60"
    )
    assert "Changed: 90" in run("friend", "--metric", "requests_per_minute", "--amount", "90")
    assert limits() == [("requests_per_minute", 90, True, "operator")]
    with operator_scope():
        events = AuditEvent.objects.filter(tenant=friend).order_by("created_at")
        assert {(event.action, event.actor) for event in events} == {
            ("limit.set", "manage.py"),
            ("limit.changed", "manage.py"),
        }


def test_cost_is_given_in_the_currency(friend: Tenant) -> None:
    run("friend", "--metric", "cost_per_month", "--amount", "20.5", "--soft")
    assert limits() == [("cost_per_month", 20_500_000_000, False, "operator")]


def test_a_limit_of_a_key_and_a_model_is_its_own(friend: Tenant) -> None:
    key, _ = new_key(friend, name="laptop")
    for more in ([], ["--key", "laptop"], ["--key", str(key.id), "--model", "m"]):
        run("friend", "--metric", "tokens_per_day", "--amount", "5", *more)
    with operator_scope():
        places = set(Limit.objects.values_list("key_id", "model"))
    assert places == {(None, ""), (key.id, ""), (key.id, "m")}


def test_a_limit_is_lifted(friend: Tenant) -> None:
    run("friend", "--metric", "tokens_per_day", "--amount", "5")
    assert "Lifted: 5 tokens per day" in run("friend", "--metric", "tokens_per_day", "--lift")
    assert limits() == []
    with pytest.raises(CommandError, match="no such limit"):
        run("friend", "--metric", "tokens_per_day", "--lift")


def test_what_makes_no_sense_is_said(friend: Tenant) -> None:
    new_key(make_tenant("stranger"), name="theirs")
    with pytest.raises(CommandError, match="no tenant named 'nobody'"):
        run("nobody", "--metric", "tokens_per_day", "--amount", "5")
    with pytest.raises(CommandError, match="whole number"):
        run("friend", "--metric", "tokens_per_day", "--amount", "5.5")
    with pytest.raises(CommandError, match="no working key"):
        run("friend", "--metric", "tokens_per_day", "--amount", "5", "--key", "theirs")
    with pytest.raises(CommandError, match="invalid choice"):
        run("friend", "--metric", "tokens_per_year", "--amount", "5")
    assert limits() == []


def test_a_tenant_begins_with_the_limits_of_the_setting(friend: Tenant, settings: Settings) -> None:
    settings.SIGNUP_LIMITS = (("requests_per_minute", 60), ("cost_per_day", 5_000_000_000))
    with tenant_scope(friend.id):
        give_starting_limits(friend)
    assert sorted(limits()) == [
        ("cost_per_day", 5_000_000_000, True, "operator"),
        ("requests_per_minute", 60, True, "operator"),
    ]


def test_without_the_setting_it_begins_without_limits(friend: Tenant, settings: Settings) -> None:
    settings.SIGNUP_LIMITS = ()
    with tenant_scope(friend.id):
        give_starting_limits(friend)
    assert limits() == []
