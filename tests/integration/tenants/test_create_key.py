"""`manage.py create_key`: another key for a tenant that there is."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tenants.keys import find_principal, issue_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import operator_scope

pytestmark = pytest.mark.usefixtures("database")


def create_key(*arguments: str) -> str:
    out = StringIO()
    call_command("create_key", *arguments, stdout=out)
    return out.getvalue()


def count_keys() -> int:
    with operator_scope():
        return ApiKey.objects.count()


def test_the_new_key_works_beside_the_old_one(stranger_tenant: Tenant) -> None:
    old = issue_key(stranger_tenant, name="old")
    made = json.loads(create_key("stranger", "--name", "new", "--json"))
    assert (made["tenant"], made["name"]) == (str(stranger_tenant.id), "new")
    for key in (old, made["key"]):
        principal = find_principal(key)
        assert principal is not None
        assert principal.tenant_id == stranger_tenant.id
    with operator_scope():
        assert ApiKey.objects.filter(name="new").count() == 1


def test_text_ends_with_the_key(stranger_tenant: Tenant) -> None:
    assert find_principal(create_key("stranger").split()[-1]) is not None


def test_a_tenant_that_does_not_exist_is_named() -> None:
    with pytest.raises(CommandError, match="no tenant named 'nobody'"):
        create_key("nobody")


def test_a_tenant_that_is_switched_off_gets_no_key(stranger_tenant: Tenant) -> None:
    with operator_scope():
        Tenant.objects.update(is_active=False)
    before = count_keys()
    with pytest.raises(CommandError, match="'stranger' is switched off"):
        create_key("stranger")
    assert count_keys() == before


def test_a_key_name_that_is_too_long_is_refused_with_a_sentence(stranger_tenant: Tenant) -> None:
    before = count_keys()
    with pytest.raises(CommandError, match="--name"):
        create_key("stranger", "--name", "x" * 121)
    assert count_keys() == before


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ("auto", "auto")),
        (("--dialect", "openai", "--unserved-tools", "leave_out"), ("openai", "leave_out")),
    ],
)
def test_a_key_says_what_its_clients_need(
    options: tuple[str, ...], expected: tuple[str, str], stranger_tenant: Tenant
) -> None:
    principal = find_principal(create_key("stranger", *options).split()[-1])
    assert principal is not None
    assert (principal.dialect, principal.unserved_tools) == expected
