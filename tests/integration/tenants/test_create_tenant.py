"""`manage.py create_tenant`: a tenant and its first key, once."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tenants.keys import find_principal
from tenants.models import Tenant
from tests.support.tenants import tenant_names

pytestmark = pytest.mark.usefixtures("database")


def create_tenant(*arguments: str) -> str:
    out = StringIO()
    call_command("create_tenant", *arguments, stdout=out)
    return out.getvalue()


def test_json_has_the_tenant_and_a_key_that_works(stranger_tenant: Tenant) -> None:
    made = json.loads(create_tenant("acme", "--json"))
    principal = find_principal(made["key"])
    assert principal is not None
    assert made["name"] == "acme"
    assert str(principal.tenant_id) == made["tenant"] != str(stranger_tenant.id)


def test_text_ends_with_the_key() -> None:
    printed = create_tenant("acme")
    assert find_principal(printed.split()[-1]) is not None
    assert "acme" in printed


def test_a_name_is_taken_once_and_the_refusal_makes_no_key(stranger_tenant: Tenant) -> None:
    with pytest.raises(CommandError, match="'stranger' exists already"):
        create_tenant("stranger")
    assert tenant_names() == ["stranger"]


@pytest.mark.parametrize("name", ["", "   ", "x" * 121])
def test_a_name_that_is_none_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(CommandError, match="between 1 and 120 characters"):
        create_tenant(name)
    assert not tenant_names()


def test_a_key_name_that_is_too_long_is_refused_with_a_sentence() -> None:
    with pytest.raises(CommandError, match="--key-name"):
        create_tenant("acme", "--key-name", "x" * 121)
    assert not tenant_names()
