"""What a process has read of a chain is not read again, and counts only as long as the database says so."""

import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from responses_api import chains
from responses_api.models import Response
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.recent import RecentContexts, recent_contexts
from responses_api.services.stored import delete
from tenants.models import Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.builders import stored
from tests.integration.chains.reading import load

pytestmark = pytest.mark.usefixtures("database", "nothing_read")


def texts(items: list[Json]) -> list[str]:
    return [part["text"] for item in items for part in item["content"]]


def grow(tenant: Tenant, turns: int, previous: str | None = None) -> list[str]:
    """The ids of so many more responses, each of which continues the one before."""
    ids: list[str] = []
    for _ in range(turns):
        previous = stored(tenant, f"ask {len(ids)}", "answer", previous_response_id=previous)["id"]
        assert previous is not None
        ids.append(previous)
    return ids


def rows_and_pages(tenant: Tenant, response_id: str) -> tuple[int, int]:
    """What a turn that continues this response reads of the database: rows out of tables, pages."""
    with CaptureQueriesContext(connection) as captured:
        load(tenant, response_id)
    rows = pages = 0
    with tenant_scope(tenant.id), connection.cursor() as cursor:
        for query in captured:
            if "responses_api_" not in query["sql"]:
                continue
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query['sql']}")
            plan = str(cursor.fetchone())
            scans = re.findall(r"Scan'.*?'Actual Rows': (\d+).*?'Actual Loops': (\d+)", plan)
            rows += sum(int(found) * int(loops) for found, loops in scans)
            blocks = re.search(r"'Shared Hit Blocks': (\d+), 'Shared Read Blocks': (\d+)", plan)
            assert blocks is not None
            pages += sum(map(int, blocks.groups()))
    return rows, pages


def test_a_turn_on_a_thousand_costs_the_database_what_one_on_ten_costs(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    short, long = grow(friend_tenant, 11), grow(friend_tenant, 1001)
    with connection.cursor() as cursor:
        # Or the server gathers its statistics when it likes, between one plan and the other.
        cursor.execute("ANALYZE responses_api_response, responses_api_item")
    cold = rows_and_pages(friend_tenant, long[-2])
    rows_and_pages(friend_tenant, short[-2])
    few, many = rows_and_pages(friend_tenant, short[-1]), rows_and_pages(friend_tenant, long[-1])
    assert len(load(friend_tenant, long[-1])) == 2002
    assert many[0] == few[0] < 20
    assert many[1] <= 2 * few[1]
    assert cold[0] > 100 * many[0]
    with pytest.raises(ProtocolError):
        load(stranger_tenant, long[-1])


def test_a_process_that_missed_some_turns_reads_those(friend_tenant: Tenant) -> None:
    ids = grow(friend_tenant, 100)
    whole = load(friend_tenant, ids[-1])
    load(friend_tenant, ids[-1])
    later = grow(friend_tenant, 5, ids[-1])
    rows, _ = rows_and_pages(friend_tenant, later[-1])
    assert rows < 60
    assert load(friend_tenant, later[-1])[:200] == whole
    recent_contexts.clear()
    again = load(friend_tenant, later[-1])
    assert texts(again)[200:] == [text for turn in range(5) for text in (f"ask {turn}", "answer")]


def test_an_answer_is_asked_for_again_and_a_branch_begins_anywhere(friend_tenant: Tenant) -> None:
    ids = grow(friend_tenant, 20)
    whole = load(friend_tenant, ids[-1])
    assert load(friend_tenant, ids[9]) == whole[:20]
    branch = stored(friend_tenant, "another", "way", previous_response_id=ids[4])["id"]
    assert texts(load(friend_tenant, branch))[10:] == ["another", "way"]
    assert load(friend_tenant, branch)[:10] == whole[:10]
    assert load(friend_tenant, ids[-1]) == whole


@pytest.mark.parametrize("hole", [0, 1, 4, 8, 9])
@pytest.mark.parametrize("by_another_process", [False, True])
def test_what_was_deleted_is_not_continued_although_it_was_read(
    hole: int, by_another_process: bool, friend_tenant: Tenant
) -> None:
    ids = grow(friend_tenant, 10)
    load(friend_tenant, ids[-2])
    load(friend_tenant, ids[-1])
    if by_another_process:
        with operator_scope():
            Response.objects.filter(id=ids[hole]).delete()
    else:
        delete(friend_tenant.id, ids[hole])
        assert recent_contexts.bytes == 0
    for after in ids[hole:]:
        with pytest.raises(ProtocolError) as refused:
            load(friend_tenant, after)
        assert refused.value.code == "previous_response_not_found"
    for before in ids[:hole]:
        assert load(friend_tenant, before)


def test_deleting_a_branch_leaves_the_other_one(friend_tenant: Tenant) -> None:
    ids = grow(friend_tenant, 5)
    left, right = grow(friend_tenant, 3, ids[-1]), grow(friend_tenant, 3, ids[-1])
    whole = load(friend_tenant, right[-1])
    load(friend_tenant, left[-1])
    delete(friend_tenant.id, left[0])
    assert load(friend_tenant, right[-1]) == whole
    with pytest.raises(ProtocolError):
        load(friend_tenant, left[-1])


def test_any_order_of_turns_branches_and_deletions_reads_as_from_the_database(
    friend_tenant: Tenant, stranger_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(20261130)
    ids = grow(friend_tenant, 2)
    refused = 0
    for _ in range(150):
        step = chance.random()
        if step < 0.35:
            ids += grow(friend_tenant, 1, chance.choice(ids[-3:]))
        elif step < 0.5:
            ids += grow(friend_tenant, 1, chance.choice(ids))
        elif step < 0.55:
            with operator_scope():
                Response.objects.filter(id=chance.choice(ids)).delete()
            ids += grow(friend_tenant, 1)
        asked = chance.choice(ids[-6:] if chance.random() < 0.7 else ids)
        remembered = told(friend_tenant, asked)
        assert told(stranger_tenant, asked) == "previous_response_not_found"
        with monkeypatch.context() as another_process:
            another_process.setattr(chains, "recent_contexts", RecentContexts())
            assert told(friend_tenant, asked) == remembered
        refused += isinstance(remembered, str)
    assert 0 < refused < 100


def told(tenant: Tenant, response_id: str) -> list[Json] | str | None:
    try:
        return load(tenant, response_id)
    except ProtocolError as error:
        return error.code


def test_branches_that_grow_at_the_same_time_do_not_mix(friend_tenant: Tenant) -> None:
    root = grow(friend_tenant, 3)[-1]

    def go_on(branch: int) -> list[str]:
        try:
            last = root
            for turn in range(8):
                given = f"{branch}:{turn}"
                last = stored(friend_tenant, given, "answer", previous_response_id=last)["id"]
                assert texts(load(friend_tenant, last))[-2:] == [given, "answer"]
            return texts(load(friend_tenant, last))[6::2]
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        told = list(threads.map(go_on, range(8)))
    assert told == [[f"{branch}:{turn}" for turn in range(8)] for branch in range(8)]


def test_what_is_remembered_is_bounded(friend_tenant: Tenant, settings: Settings) -> None:
    chains_of_two = [grow(friend_tenant, 2) for _ in range(6)]
    load(friend_tenant, chains_of_two[0][-1])
    one = recent_contexts.bytes
    assert one > 0
    settings.CONTEXT_CACHE_BYTES = 3 * one + 10
    for ids in chains_of_two:
        load(friend_tenant, ids[-1])
    assert recent_contexts.bytes == 3 * one
    assert (
        rows_and_pages(friend_tenant, chains_of_two[-1][-1])[0]
        < rows_and_pages(friend_tenant, chains_of_two[0][-1])[0]
    )
    recent_contexts.clear()
    settings.CONTEXT_CACHE_BYTES = one - 1
    load(friend_tenant, chains_of_two[0][-1])
    assert recent_contexts.bytes == 0


def test_few_branches_of_a_chain_are_remembered_and_each_once(friend_tenant: Tenant) -> None:
    root = grow(friend_tenant, 1)[0]
    load(friend_tenant, root)
    one = recent_contexts.bytes
    for _ in range(8):
        load(friend_tenant, grow(friend_tenant, 1, root)[0])
    assert 4 * one < recent_contexts.bytes < 9 * one
    size = recent_contexts.bytes
    load(friend_tenant, root)
    assert recent_contexts.bytes == size


def test_what_was_not_used_for_long_is_forgotten(
    friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(friend_tenant, grow(friend_tenant, 2)[-1])
    recent_contexts.forget_unused()
    assert recent_contexts.bytes > 0
    monkeypatch.setattr("responses_api.recent._SECONDS", 0.0)
    recent_contexts.forget_unused()
    assert recent_contexts.bytes == 0


def test_the_remembered_context_counts_for_the_limit(friend_tenant: Tenant, settings: Settings) -> None:
    ids = grow(friend_tenant, 3)
    load(friend_tenant, ids[1])
    settings.MAX_CONTEXT_BYTES = recent_contexts.bytes + 20
    assert isinstance(told(friend_tenant, ids[1]), list)
    assert told(friend_tenant, ids[2]) == "context_length_exceeded"
    settings.MAX_CONTEXT_BYTES -= 40
    assert told(friend_tenant, ids[1]) == "context_length_exceeded"


def test_a_chain_from_before_its_root_was_known_is_read_whole(friend_tenant: Tenant) -> None:
    ids = grow(friend_tenant, 3)
    with operator_scope():
        Response.objects.update(root_id=None)
    later = stored(friend_tenant, "ask", "answer", previous_response_id=ids[-1])["id"]
    assert len(load(friend_tenant, later)) == len(load(friend_tenant, later)) == 8
    assert recent_contexts.bytes == 0
