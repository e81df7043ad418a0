"""Keys: issued once, recognised until they are revoked or their tenant is switched off, everywhere at once."""

import asyncio
import hashlib
from typing import Any

import pytest
from django.db import connection

from responses_api.eventlog import bus
from responses_api.eventlog.connection import asyncio_client
from tenants import keys
from tenants.keys import announce_change, cached_principal, find_principal, forget, issue_key, revoke_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import operator_scope, tenant_scope

pytestmark = pytest.mark.usefixtures("database")


def key_of(text: str) -> ApiKey:
    with operator_scope():
        found = ApiKey.objects.get(digest=hashlib.sha256(text.encode()).digest())
        assert isinstance(found, ApiKey)
        return found


def test_a_key_is_recognised_as_its_tenants(friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
    friends, strangers = (issue_key(tenant, name="app") for tenant in (friend_tenant, stranger_tenant))
    found = find_principal(friends)
    assert found is not None
    assert (found.tenant_id, found.key_id) == (friend_tenant.id, key_of(friends).id)
    other = find_principal(strangers)
    assert other is not None
    assert other.tenant_id == stranger_tenant.id


def test_only_a_hash_and_what_a_person_recognises_is_kept(friend_tenant: Tenant) -> None:
    text = issue_key(friend_tenant, name="app")
    key = key_of(text)
    assert text.startswith(keys.PREFIX)
    assert len(text) >= 40
    assert (key.prefix, key.last_four) == (text[:7], text[-4:])
    assert text[7:-4] not in repr(vars(key))


def test_two_keys_of_a_tenant_differ(friend_tenant: Tenant) -> None:
    assert issue_key(friend_tenant, name="one") != issue_key(friend_tenant, name="two")


@pytest.mark.parametrize(
    "text", ["", "ak_", "ak_unknown", "sk-other", "ak_" + "x" * 500, "ak_\x00", "ak_é\ud800"]
)
def test_what_is_not_a_key_is_nobody(text: str, friend_tenant: Tenant) -> None:
    issue_key(friend_tenant, name="app")
    assert find_principal(text) is None


def test_a_revoked_key_is_nobody_and_the_others_stay(friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
    revoked, kept = issue_key(friend_tenant, name="old"), issue_key(friend_tenant, name="new")
    strangers = issue_key(stranger_tenant, name="app")
    assert find_principal(revoked) is not None
    with tenant_scope(friend_tenant.id):
        revoke_key(key_of(revoked))
    forget()
    assert find_principal(revoked) is None
    assert find_principal(kept) is not None
    assert find_principal(strangers) is not None


def test_the_time_of_the_first_revoke_stays(friend_tenant: Tenant) -> None:
    text = issue_key(friend_tenant, name="app")
    with tenant_scope(friend_tenant.id):
        revoke_key(key_of(text))
    first = key_of(text).revoked_at
    with tenant_scope(friend_tenant.id):
        revoke_key(key_of(text))
    assert first is not None
    assert key_of(text).revoked_at == first


def test_keys_of_a_tenant_that_is_switched_off_are_refused(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    friends, strangers = (issue_key(tenant, name="app") for tenant in (friend_tenant, stranger_tenant))
    stranger_tenant.is_active = False
    with operator_scope():
        stranger_tenant.save()
    assert find_principal(strangers) is None
    assert find_principal(friends) is not None


def test_the_cache_answers_until_it_forgets(friend_tenant: Tenant) -> None:
    text = issue_key(friend_tenant, name="app")
    assert cached_principal(text) == (False, None)
    found = find_principal(text)
    assert cached_principal(text) == (True, found)
    friend_tenant.is_active = False
    with operator_scope():
        friend_tenant.save()
    assert find_principal(text) == found
    forget()
    assert find_principal(text) is None
    assert cached_principal(text) == (True, None)


async def test_a_change_is_heard_on_the_bus_after_its_commit(friend_tenant: Tenant) -> None:
    heard = asyncio.Event()
    async with asyncio_client() as client:
        listening = asyncio.create_task(bus.listen(client, on_access=heard.set))
        await listener_is_there(client)
        await asyncio.to_thread(announce_change)
        await asyncio.wait_for(heard.wait(), 5)
        listening.cancel()


async def listener_is_there(client: object) -> None:
    from responses_api.eventlog import names

    while True:
        ((_, count),) = await client.pubsub_numsub(names.BUS)  # type: ignore[attr-defined]
        if count:
            return
        await asyncio.sleep(0.005)


def test_a_key_that_was_read_before_its_revoke_is_not_kept_after_it(friend_tenant: Tenant) -> None:
    text = issue_key(friend_tenant, name="app")
    revoked: list[str] = []

    def revoke_meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if "digest" in sql and not revoked:
            revoked.append(sql)
            forget()  # as the bus does when the revoke of another process is told
        return answer

    with connection.execute_wrapper(revoke_meanwhile):
        assert find_principal(text) is not None
    assert revoked
    assert cached_principal(text) == (False, None)
