"""Chains with compactions in them: whatever was read before, in whatever order, the context is the compacted window."""

import random

import pytest
from pytest_django import Settings

from responses_api import chains
from responses_api.protocol.compaction import continued
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.recent import RecentContexts
from responses_api.services.finish import finish
from responses_api.services.identity import new_id
from responses_api.services.stored import delete
from tenants.models import Tenant
from tests.integration.builders import ended, job_of, said
from tests.integration.chains.reading import load

pytestmark = pytest.mark.usefixtures("database", "nothing_read")


class Tree:
    """Responses of a tenant and, worked out one by one, the context behind each."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self.contexts: dict[str, list[Json]] = {}

    def add(self, previous: str | None, *, compacts: bool = False, text: str = "ask") -> str:
        """One more response behind `previous`: an answer, or a compaction."""
        given = [{"role": "user", "content": text}, {"role": "assistant", "content": "as I said"}]
        job = job_of(self._tenant, given, previous_response_id=previous)
        output = compaction() if compacts else said("answer")
        assert finish([ended(job, output)])
        before = self.contexts[previous] if previous else []
        self.contexts[job.response_id] = continued([*before, *job.input_items], [output])
        return job.response_id


def compaction() -> Json:
    return {"type": "compaction", "id": new_id("cmp"), "encrypted_content": "sealed"}


def types(items: list[Json]) -> list[str]:
    return [item["type"] if item["type"] != "message" else item["role"] for item in items]


def test_before_a_compaction_only_what_it_kept_is_left(friend_tenant: Tenant) -> None:
    tree = Tree(friend_tenant)
    first = tree.add(None)
    second = tree.add(first, compacts=True)
    third = tree.add(second)
    assert types(load(friend_tenant, first)) == ["user", "assistant", "assistant"]
    assert types(load(friend_tenant, second)) == ["user", "user", "compaction"]
    assert types(load(friend_tenant, third)) == [
        "user",
        "user",
        "compaction",
        "user",
        "assistant",
        "assistant",
    ]
    assert load(friend_tenant, third) == tree.contexts[third]


def test_a_compaction_that_a_client_sent_leaves_what_is_before_it(friend_tenant: Tenant) -> None:
    """Only an answer compacts its chain: in an input, the item stands where the client put it."""
    given = [{"role": "user", "content": "a"}, {"type": "compaction", "encrypted_content": "sealed"}]
    before = job_of(friend_tenant)
    job = job_of(friend_tenant, given, previous_response_id=before.response_id)
    finish([ended(before, said("Hi")), ended(job, said("Yes"))])
    assert types(load(friend_tenant, job.response_id)) == [
        "user",
        "assistant",
        "user",
        "compaction",
        "assistant",
    ]


def test_any_order_of_turns_branches_and_compactions(
    friend_tenant: Tenant, stranger_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(4711)
    tree = Tree(friend_tenant)
    ids = [tree.add(None)]
    for step in range(60):
        previous = chance.choice(ids[-3:] if chance.random() < 0.6 else ids)
        ids.append(tree.add(previous, compacts=chance.random() < 0.3, text=f"ask {step}"))
        for _ in range(2):
            asked = chance.choice(ids[-6:] if chance.random() < 0.7 else ids)
            assert load(friend_tenant, asked) == tree.contexts[asked]
            with monkeypatch.context() as another_process:
                another_process.setattr(chains, "recent_contexts", RecentContexts())
                assert load(friend_tenant, asked) == tree.contexts[asked]
    with pytest.raises(ProtocolError):
        load(stranger_tenant, ids[-1])


@pytest.mark.parametrize("was_read", [False, True])
def test_a_chain_whose_compacted_part_was_deleted_cannot_be_continued(
    was_read: bool, friend_tenant: Tenant
) -> None:
    tree = Tree(friend_tenant)
    first = tree.add(None)
    last = tree.add(tree.add(tree.add(first), compacts=True))
    if was_read:
        load(friend_tenant, last)
    delete(friend_tenant.id, first)
    with pytest.raises(ProtocolError) as refused:
        load(friend_tenant, last)
    assert refused.value.code == chains.NOT_CONTINUABLE


def test_what_was_compacted_does_not_count_for_the_limit(friend_tenant: Tenant, settings: Settings) -> None:
    tree = Tree(friend_tenant)
    previous = None
    for _ in range(20):
        previous = tree.add(previous)
    compacted = tree.add(previous, compacts=True)
    settings.MAX_CONTEXT_BYTES = 6_000
    assert load(friend_tenant, compacted) == tree.contexts[compacted]
    assert previous is not None
    with pytest.raises(ProtocolError):
        load(friend_tenant, previous)
