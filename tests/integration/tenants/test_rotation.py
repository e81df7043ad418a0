"""Rotation: another key with the same rules, both for a while; and what commands do with keys."""

import json
import re
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from responses_api.protocol.errors import ProtocolError
from responses_api.services.access import Visitor, caller
from tenants.keys import find_principal, forget, new_key, revoke_key
from tenants.models import ApiKey, AuditEvent, Limit, Tenant, ToolPolicy
from tenants.rotation import NotRotated, rotate_key
from tenants.scoping import operator_scope, tenant_scope

pytestmark = pytest.mark.usefixtures("database")

RULES: dict[str, Any] = {
    "scopes": ["responses:write"],
    "allowed_models": ["a*"],
    "allowed_addresses": ["192.0.2.0/24"],
    "dialect": "openai",
    "unserved_tools": "refuse",
}
DAY = timedelta(days=1)


def works(text: str) -> bool:
    forget()
    try:
        caller(Visitor(f"Bearer {text}", "192.0.2.7"), "responses:write")
    except ProtocolError as error:
        if error.status != 401:
            raise
        return False
    return True


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_both_keys_work_until_the_grace_is_over(friend_tenant: Tenant) -> None:
    old, old_text = new_key(friend_tenant, name="app", **RULES)
    made, text = rotate_key(old, grace=DAY)
    assert works(old_text)
    assert works(text)
    before, after = (find_principal(key) for key in (old_text, text))
    assert before is not None
    assert after is not None
    for rule in ("scopes", "allowed_models", "allowed_addresses", "dialect", "unserved_tools"):
        assert getattr(before, rule) == getattr(after, rule)
    assert before.expires_at is not None
    assert abs(before.expires_at - (datetime.now(UTC) + DAY).timestamp()) < 60
    assert after.expires_at is None
    with operator_scope():
        assert ApiKey.objects.get(pk=made.pk).replaces_id == old.pk
        ApiKey.objects.filter(pk=old.pk).update(expires_at=datetime.now(UTC))
    assert not works(old_text)
    assert works(text)


def test_without_grace_the_old_key_ends_now(friend_tenant: Tenant) -> None:
    old, old_text = new_key(friend_tenant, name="app")
    _, text = rotate_key(old, grace=timedelta(0))
    assert not works(old_text)
    assert works(text)


def test_limits_and_the_policy_in_force_hold_for_the_new_key(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    old, _ = new_key(friend_tenant, name="app")
    with tenant_scope(friend_tenant.id):
        for set_by in ("operator", "tenant"):
            Limit.objects.create(
                tenant=friend_tenant, key=old, metric="tokens_per_day", amount=7, set_by=set_by
            )
        for version, effect in ((1, "allow"), (2, "deny")):
            ToolPolicy.objects.create(
                tenant=friend_tenant, key=old, version=version, rules=[], default_effect=effect
            )
    made, text = rotate_key(old, grace=DAY)
    principal = find_principal(text)
    assert principal is not None
    assert {(limit.amount, limit.set_by, limit.key_id) for limit in principal.limits} == {
        (7, "operator", made.pk),
        (7, "tenant", made.pk),
    }
    assert [policy["default_effect"] for policy in principal.policies] == ["deny"]
    with operator_scope():
        assert Limit.objects.filter(key=old).count() == 2
        assert ToolPolicy.objects.filter(key=old).count() == 2
        assert not ApiKey.objects.filter(tenant=stranger_tenant).exists()


def test_grace_never_lengthens_a_life_and_the_new_key_lives_as_long_as_the_old(friend_tenant: Tenant) -> None:
    end = datetime.now(UTC) + timedelta(hours=2)
    old, _ = new_key(friend_tenant, name="app", expires_at=end)
    with operator_scope():
        ApiKey.objects.filter(pk=old.pk).update(created_at=end - 30 * DAY)
    made, _ = rotate_key(old, grace=DAY)
    with operator_scope():
        assert ApiKey.objects.get(pk=old.pk).expires_at == end
    assert made.expires_at is not None
    assert abs(made.expires_at - (datetime.now(UTC) + 30 * DAY)) < timedelta(minutes=1)


def test_what_ended_or_was_replaced_is_not_rotated(friend_tenant: Tenant) -> None:
    revoked, _ = new_key(friend_tenant, name="revoked")
    with tenant_scope(friend_tenant.id):
        revoke_key(revoked)
    expired, _ = new_key(friend_tenant, name="expired", expires_at=datetime.now(UTC) - DAY)
    replaced, _ = new_key(friend_tenant, name="replaced")
    rotate_key(replaced, grace=DAY)
    for key, words in ((revoked, "was revoked"), (expired, "has expired"), (replaced, "was replaced")):
        with pytest.raises(NotRotated, match=words):
            rotate_key(key, grace=DAY)
    for grace in (timedelta(seconds=-1), 91 * DAY):
        with pytest.raises(NotRotated, match="grace period"):
            rotate_key(replaced, grace=grace)


def test_each_act_is_in_the_audit_log_without_the_key(friend_tenant: Tenant) -> None:
    old, first = new_key(friend_tenant, name="app", **RULES)
    made, second = rotate_key(old, grace=DAY)
    with tenant_scope(friend_tenant.id):
        revoke_key(made)
        events = list(AuditEvent.objects.order_by("created_at", "id"))
    assert sorted(event.action for event in events) == [
        "key.issued",
        "key.issued",
        "key.revoked",
        "key.rotated",
    ]
    told = json.dumps([[event.subject, event.details] for event in events])
    assert "192.0.2.0/24" in told
    for text in (first, second):
        assert text[7:-4] not in told


def test_commands_rotate_and_revoke_by_name_and_by_last_letters(friend_tenant: Tenant) -> None:
    _, old = new_key(friend_tenant, name="app")
    printed = run("rotate_key", "friend", "app", "--grace-hours", "1")
    new = printed.split()[-1]
    assert re.search(r"app \(ak_.*\) works until \d{4}-", printed)
    assert works(old)
    assert works(new)
    assert run("revoke_key", "friend", old[-4:]).startswith("Revoked: app")
    assert not works(old)
    made = json.loads(run("rotate_key", "friend", new[-4:], "--json"))
    assert works(made["key"])


def test_the_last_letters_of_a_key_are_no_option(
    friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(["a" * 39 + "-abc", "a" * 39 + "x-bc"])
    monkeypatch.setattr("tenants.keys.secrets.token_urlsafe", lambda _: next(drawn))
    _, text = new_key(friend_tenant, name="app")
    assert run("revoke_key", "friend", text[-4:]).startswith("Revoked: app")
    assert not works(text)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rotate_key", "nobody", "app"), "no tenant named 'nobody'"),
        (("rotate_key", "friend", "other"), "no working key named 'other'"),
        (("rotate_key", "friend", "twice"), "Several keys fit"),
        (("rotate_key", "friend", "app", "--grace-hours", "-1"), "--grace-hours"),
        (("revoke_key", "friend", "strangers"), "no working key"),
        (("create_key", "friend", "--scopes", "admin"), "'admin' is no scope"),
        (("create_key", "friend", "--addresses", "here"), "'here' is neither"),
        (("create_key", "friend", "--expires-days", "0"), "--expires-days"),
    ],
)
def test_commands_say_what_is_wrong(
    arguments: tuple[str, ...], words: str, friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    for name in ("app", "twice", "twice"):
        new_key(friend_tenant, name=name)
    new_key(stranger_tenant, name="strangers")
    with pytest.raises(CommandError, match=words):
        run(*arguments)


def test_a_key_is_made_with_its_rules_by_a_command(friend_tenant: Tenant) -> None:
    rules: tuple[Any, ...] = (
        *("--scopes", "responses:read,responses:write", "--expires-days", "2"),
        *("--models", "a*, b", "--addresses", "192.0.2.7"),
    )
    principal = find_principal(run("create_key", "friend", *rules).split()[-1])
    assert principal is not None
    assert principal.scopes == {"responses:read", "responses:write"}
    assert principal.allowed_models == ("a*", "b")
    assert principal.allowed_addresses == ("192.0.2.7",)
    assert principal.expires_at is not None
    assert abs(principal.expires_at - (datetime.now(UTC) + 2 * DAY).timestamp()) < 60
