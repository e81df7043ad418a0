"""Approvals: one response runs what was approved, however many ask at once, and nobody learns of another's."""

import threading
import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection

from responses_api.models import UsedApproval
from responses_api.services.approvals import claim, claimed, purge
from responses_api.services.current_policies import current_policies
from responses_api.services.identity import now
from responses_api.services.retention import purge_expired
from tenants.keys import new_key
from tenants.models import Tenant, ToolPolicy
from tenants.scoping import operator_scope, tenant_scope


def count(tenant: Tenant) -> int:
    with tenant_scope(tenant.id):
        return int(UsedApproval.objects.count())


def age(days: int) -> None:
    with operator_scope(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE responses_api_usedapproval SET created_at = created_at - make_interval(days => %s)",
            [days],
        )


def test_the_first_response_has_it_and_has_it_again(friend_tenant: Tenant) -> None:
    assert claim(friend_tenant.id, "mcpr_1", "resp_1")
    assert claim(friend_tenant.id, "mcpr_1", "resp_1")
    assert not claim(friend_tenant.id, "mcpr_1", "resp_2")
    assert claim(friend_tenant.id, "mcpr_2", "resp_2")
    assert count(friend_tenant) == 2


def test_of_many_at_once_one_has_it(friend_tenant: Tenant) -> None:
    ready, given = threading.Barrier(6), list[bool]()

    def take(name: str) -> None:
        ready.wait()
        given.append(claim(friend_tenant.id, "mcpr_1", name))
        connection.close()

    takers = [threading.Thread(target=take, args=(f"resp_{n}",)) for n in range(6)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert sorted(given) == [False] * 5 + [True]


def test_a_strangers_claim_of_the_same_id_is_another_one(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    assert claim(stranger_tenant.id, "mcpr_1", "resp_s")
    assert claimed(friend_tenant.id, ["mcpr_1"]) == set()
    assert claim(friend_tenant.id, "mcpr_1", "resp_f")
    assert claimed(friend_tenant.id, ["mcpr_1", "mcpr_2"]) == {"mcpr_1"}


def test_claims_go_with_what_their_tenant_keeps_no_longer(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    for tenant in (friend_tenant, stranger_tenant):
        claim(tenant.id, "mcpr_1", "resp_1")
    with operator_scope():
        Tenant.objects.filter(id=friend_tenant.id).update(retention_days=7)
    age(5)
    purge_expired()
    assert count(friend_tenant) == 1
    age(5)
    purge_expired()
    assert (count(friend_tenant), count(stranger_tenant)) == (0, 1)
    assert purge(stranger_tenant.id, before=now() - 86_400) == 1


def test_a_tenant_that_keeps_nothing_keeps_claims_for_a_month(friend_tenant: Tenant) -> None:
    with operator_scope():
        Tenant.objects.filter(id=friend_tenant.id).update(zero_data_retention=True)
    claim(friend_tenant.id, "mcpr_1", "resp_1")
    age(29)
    purge_expired()
    assert count(friend_tenant) == 1
    age(2)
    purge_expired()
    assert count(friend_tenant) == 0


async def test_policies_are_read_as_they_are_now(friend_tenant: Tenant, stranger_tenant: Tenant) -> None:
    key, _ = await sync_to_async(new_key)(friend_tenant, name="robot")

    def save(tenant: Tenant, version: int, **fields: Any) -> None:
        with tenant_scope(tenant.id):
            ToolPolicy.objects.create(tenant=tenant, version=version, **fields)

    assert await current_policies(friend_tenant.id, key.id) == ()
    await sync_to_async(save)(stranger_tenant, 1, default_effect="deny")
    await sync_to_async(save)(friend_tenant, 1)
    await sync_to_async(save)(friend_tenant, 2, hosted_tools=False)
    await sync_to_async(save)(friend_tenant, 1, key=key, default_effect="deny")
    of_tenant, of_key = await current_policies(friend_tenant.id, key.id)
    assert (of_tenant.of, of_tenant.version, of_tenant.hosted_tools) == ("tenant", 2, False)
    assert (of_key.of, of_key.version, of_key.default_effect) == ("key", 1, "deny")
    (other,) = await current_policies(friend_tenant.id, uuid.uuid4())
    assert other.of == "tenant"
