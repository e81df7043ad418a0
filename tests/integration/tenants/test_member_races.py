"""What happens at the same time, on connections of their own: nothing happens twice, and no team loses its owners."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from tenants import invitations, members
from tenants.members import NotAllowed, join
from tenants.models import Membership, Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.accounts.people import account, members_of


def together(*calls: Callable[[], Any]) -> list[Any]:
    """What each call came to, or raised, when all begin at once."""
    start = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(place: int, call: Callable[[], Any]) -> None:
        start.wait()
        try:
            results[place] = call()
        except Exception as error:
            results[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def owner_of(tenant: Tenant, email: str) -> tuple[User, Membership]:
    user = account(email)
    with tenant_scope(tenant.id):
        return user, join(tenant.id, user, "owner", actor="test")


@pytest.mark.parametrize("attempt", range(5))
def test_of_two_owners_who_leave_at_once_one_stays(friend_tenant: Tenant, attempt: int) -> None:
    people = [owner_of(friend_tenant, f"{name}@example.com") for name in "ab"]
    results = together(
        *(lambda one=one: members.remove(friend_tenant.id, one[1].pk, by=one[0]) for one in people)
    )
    assert sorted(isinstance(result, NotAllowed) for result in results) == [False, True]
    assert list(members_of(friend_tenant).values()) == ["owner"]


@pytest.mark.parametrize("attempt", range(5))
def test_of_two_owners_who_demote_each_other_at_once_one_stays(friend_tenant: Tenant, attempt: int) -> None:
    (ada, hers), (bob, his) = (owner_of(friend_tenant, f"{name}@example.com") for name in "ab")
    results = together(
        lambda: members.change_role(friend_tenant.id, his.pk, "member", by=ada),
        lambda: members.change_role(friend_tenant.id, hers.pk, "member", by=bob),
    )
    assert sum(isinstance(result, NotAllowed) for result in results) == 1
    assert sorted(members_of(friend_tenant).values()) == ["member", "owner"]


@pytest.mark.parametrize("attempt", range(5))
def test_an_invitation_that_is_accepted_twice_at_once_makes_one_member(
    friend_tenant: Tenant, attempt: int
) -> None:
    user, _ = owner_of(friend_tenant, "owner@example.com")
    tokens: list[str] = []

    def link_of(token: str) -> str:
        tokens.append(token)
        return token

    invitations.invite(
        friend_tenant.id,
        "ada@example.com",
        "member",
        by=user,
        link_of=link_of,
    )
    ada = account("ada@example.com")
    digest = invitations.digest_of(tokens[0])
    results = together(
        *(lambda: invitations.accept(digest, user=ada, addresses=["ada@example.com"]) for _ in range(4))
    )
    assert sum(isinstance(result, Membership) for result in results) == 1
    assert sum(isinstance(result, invitations.Gone) for result in results) == 3
    with operator_scope():
        assert Membership.objects.filter(user=ada).count() == 1
