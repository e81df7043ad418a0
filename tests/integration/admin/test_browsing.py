"""The list of responses: every question finds what it asks for and nothing else, page by page, in its scope."""

import uuid
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from responses_api.models import Item, Response
from responses_api.services import browse as browsing
from responses_api.services.browse import Found, Question, TooSlow, browse
from tenants.keys import new_key
from tenants.models import Tenant
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.admin.people import person_of
from tests.integration.admin.stored import RESPONSES, answer, page_of, store


def found(client: Client, **asked: Any) -> list[str]:
    """The ids on the page for a question, in their order."""
    answered = client.get(f"{RESPONSES}?{urlencode(asked)}")
    assert answered.status_code == 200
    return [row.pk for row in answered.context["cl"].result_list]


@pytest.fixture
def member(friend: Tenant) -> Client:
    """The browser of somebody who belongs to the friend."""
    return person_of(friend, "member")


@pytest.fixture
def few_to_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("responses_api.admin.responses.ResponseAdmin.list_per_page", 3)


def walk(client: Client, path: str, side: str) -> Iterator[list[str]]:
    """The pages from `path` on, following the link to the older or newer ones."""
    while True:
        page = client.get(path).context["cl"]
        yield [row.pk for row in page.result_list]
        following = getattr(page, side)
        if not following:
            return
        path = f"{RESPONSES}{following}"


@pytest.mark.usefixtures("few_to_a_page")
def test_pages_show_each_response_once_there_and_back(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    ids = [store(tenant) for _ in range(5) for tenant in (friend, stranger)]
    pages = list(walk(operator, RESPONSES, "older"))
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert list(chain(*pages)) == ids[::-1]
    back = list(walk(operator, f"{RESPONSES}?after={ids[0]}", "newer"))
    assert list(chain(*reversed(back))) == ids[:0:-1]


@pytest.mark.usefixtures("few_to_a_page")
def test_what_comes_meanwhile_neither_hides_nor_repeats_anything(operator: Client, friend: Tenant) -> None:
    ids = [store(friend) for _ in range(8)]
    seen: list[str] = []
    for page in walk(operator, RESPONSES, "older"):
        seen += page
        store(friend)
    assert seen == ids[::-1]


@pytest.mark.usefixtures("few_to_a_page")
def test_a_page_says_which_others_there_are(operator: Client, friend: Tenant) -> None:
    ids = [store(friend) for _ in range(5)]
    first = operator.get(RESPONSES).content.decode()
    last = operator.get(f"{RESPONSES}?before={ids[2]}").content.decode()
    assert ">Older<" in first
    assert ">Newer<" not in first
    assert ">Newer<" in last
    assert ">Newest<" in last
    assert ">Older<" not in last


Asked = Callable[[Tenant, str, str], dict[str, Any]]
QUESTIONS: dict[str, Asked] = {
    "status": lambda tenant, key, wanted: {"status": "failed"},
    "model": lambda tenant, key, wanted: {"model": "rare"},
    "key": lambda tenant, key, wanted: {"key": key},
    "metadata": lambda tenant, key, wanted: {"name": "größe", "value": "a=b & c"},
    "id": lambda tenant, key, wanted: {"q": wanted},
    "beginning": lambda tenant, key, wanted: {"q": wanted[:30]},
    "status and model": lambda tenant, key, wanted: {"status": "failed", "model": "rare"},
    "key and metadata": lambda tenant, key, wanted: {"key": key, "name": "größe", "value": "a=b & c"},
    "all": lambda tenant, key, wanted: {
        "status": "failed",
        "model": "rare",
        "key": key,
        "name": "größe",
        "value": "a=b & c",
        "since": "2020-01-01T00:00",
        "q": wanted[:12],
    },
}


@pytest.mark.parametrize("is_narrowed", [True, False], ids=["of one tenant", "of all"])
@pytest.mark.parametrize("asked", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_finds_what_it_asks_for(
    operator: Client, friend: Tenant, stranger: Tenant, asked: Asked, is_narrowed: bool
) -> None:
    error = {"code": "server_error", "message": "The backend is away."}
    key, _ = new_key(friend, name="the app's")
    body = {"model": "rare", "metadata": {"größe": "a=b & c", "other": "x"}}
    others = [store(friend, {"metadata": {"größe": "a=b"}}), store(stranger)]
    wanted = store(friend, body, status="failed", error=error)
    others.append(store(friend))
    with operator_scope():
        Response.objects.filter(id=wanted).update(key_id=key.id)
    question = asked(friend, str(key.id), wanted)
    if is_narrowed:
        question["tenant"] = str(friend.id)
        assert found(operator, **{**question, "tenant": str(stranger.id)}) == []
    assert found(operator, **question) == [wanted]
    assert found(operator, **question, before=wanted) == []


def test_a_completed_one_is_found_by_its_state(operator: Client, friend: Tenant) -> None:
    wanted = store(friend)
    store(friend, status="failed", error={"code": "server_error", "message": "Away."})
    assert found(operator, status="completed") == [wanted]


def test_a_time_is_a_range_of_ids(operator: Client, friend: Tenant) -> None:
    response_id = store(friend)
    with operator_scope():
        old = Response.objects.get(id=response_id)
        old.pk = f"resp_{1_700_000_000_000:012x}{'0' * 32}"  # 2023-11-14 22:13:20
        old.save(force_insert=True)
    assert found(operator, since="2023-11-14T22:13", until="2023-11-14T22:14") == [old.pk]
    assert found(operator, since="2023-11-14T22:13:20", until="2023-11-14T22:13:21") == [old.pk]
    assert found(operator, until="2023-11-14T22:13") == []
    assert found(operator, since="2024-01-01") == [response_id]


def test_an_id_finds_the_response_and_what_continues_it(operator: Client, friend: Tenant) -> None:
    first = store(friend)
    following = [store(friend, {"previous_response_id": first}) for _ in range(2)]
    store(friend, {"previous_response_id": following[0]})
    assert found(operator, q=first) == [*following[::-1], first]
    assert found(operator, q=first, tenant=friend.id) == [*following[::-1], first]


def test_an_items_id_finds_its_response(
    operator: Client, member: Client, friend: Tenant, stranger: Tenant
) -> None:
    mine, foreign = store(friend, None, answer("Hi")), store(stranger, None, answer("Hi"))
    with operator_scope():
        items = {
            response_id: Item.objects.filter(response_id=response_id, is_output=True).get().id
            for response_id in (mine, foreign)
        }
    assert found(operator, q=items[foreign]) == [foreign]
    assert found(member, q=items[mine]) == [mine]
    assert found(member, q=items[mine][:20]) == [mine]
    assert found(member, q=items[foreign]) == []


def test_a_member_finds_nothing_foreign_whatever_they_ask(
    member: Client, friend: Tenant, stranger: Tenant
) -> None:
    body = {"model": "rare", "metadata": {"a": "b"}}
    key, _ = new_key(stranger, name="theirs")
    foreign = store(stranger, body, status="failed", error={"code": "c", "message": "m"})
    with operator_scope():
        Response.objects.filter(id=foreign).update(key_id=key.id)
    mine = store(friend)
    assert found(member) == found(member, tenant=stranger.id) == [mine]
    for asked in (
        {"q": foreign},
        {"q": foreign[:40]},
        {"key": key.id},
        {"model": "rare"},
        {"status": "failed"},
        {"name": "a", "value": "b"},
    ):
        assert found(member, **asked) == [], asked
    page = member.get(f"{RESPONSES}?key={key.id}").content.decode()
    assert "theirs" not in page
    assert "Stranger" not in page
    assert 'name="tenant"' not in page


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"q": "hello"}, "Give a response&#x27;s id"),
        ({"q": "msg_12"}, "Give a response&#x27;s id"),
        ({"name": "a"}, "give both"),
        ({"value": "a"}, "give both"),
        ({"since": "2026-02-02", "until": "2026-02-01"}, "later than the beginning"),
        ({"key": "no key"}, "valid UUID"),
        ({"status": "odd"}, "not one of the available choices"),
    ],
)
def test_a_question_with_a_fault_finds_nothing_and_says_what_is_wrong(
    operator: Client, friend: Tenant, asked: dict[str, str], told: str
) -> None:
    store(friend)
    assert found(operator, **asked) == []
    assert told in operator.get(f"{RESPONSES}?{urlencode(asked)}").content.decode()


def test_a_walk_that_finds_little_ends_and_goes_on_where_it_ended(
    operator: Client, friend: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = store(friend, {"model": "rare"}, status="incomplete")
    others = [store(friend, status="incomplete") for _ in range(6)]
    monkeypatch.setattr(browsing, "WINDOW", 4)
    asked: dict[str, Any] = {"model": "rare", "status": "incomplete"}
    with tenant_scope(friend.id):
        first = browse(Question(**asked), 50)
        assert first == Found([], has_older=True, has_newer=False, ended_at=others[2])
    page = operator.get(f"{RESPONSES}?{urlencode({**asked, 'tenant': friend.id})}")
    assert "Look further" in page.content.decode()
    further = operator.get(RESPONSES + page.context["cl"].further).context["cl"]
    assert [row.pk for row in further.result_list] == [wanted]
    assert not further.further


def test_a_page_that_takes_too_long_is_given_up_with_a_word(
    operator: Client, friend: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(friend)
    monkeypatch.setattr(browsing, "_BY_ROW", browsing._BY_ROW.replace("SELECT id", "SELECT pg_sleep(1), id"))
    monkeypatch.setattr(browsing, "SECONDS", 0.05)
    page = operator.get(RESPONSES)
    assert page.status_code == 200
    assert "This took too long" in page.content.decode()
    with tenant_scope(friend.id):
        with pytest.raises(TooSlow):
            browse(Question(), 5)
        assert Response.objects.count() == 1


def test_a_question_costs_the_same_queries_for_one_row_and_for_fifty(
    operator: Client, member: Client, friend: Tenant
) -> None:
    asked = urlencode({"model": "stub", "name": "a", "value": "b", "tenant": friend.id})

    def costs() -> list[int]:
        counts = []
        for client, path in ((operator, RESPONSES), (operator, f"{RESPONSES}?{asked}"), (member, RESPONSES)):
            with CaptureQueriesContext(connection) as captured:
                assert client.get(path).status_code == 200
            assert not [query for query in captured.captured_queries if "COUNT(" in query["sql"]]
            counts.append(len(captured))
        return counts

    store(friend, {"metadata": {"a": "b"}})
    one = costs()
    for _ in range(50):
        store(friend, {"metadata": {"a": "b"}})
    # Where the page is not full, one more says whether the walk ended early.
    assert all(many <= few for many, few in zip(costs(), one, strict=True))
    assert max(one) <= 30


def test_foreign_unknown_and_malformed_ids_look_alike(friend: Tenant, stranger: Tenant) -> None:
    member = person_of(friend, "admin")
    foreign = store(stranger, None, answer("secret words"))
    ids = [foreign, "resp_" + "0" * 44, "no-id"]
    for view in ("change", "delete", "history", "events", "json"):
        answers = [member.get(page_of(each).replace("change", view)) for each in ids]
        assert {answer.status_code for answer in answers} == {404}, view
        assert all("secret words" not in answer.content.decode() for answer in answers)
        assert all("There is no response" in answer.content.decode() for answer in answers)
    assert member.post(page_of(foreign).replace("change", "delete"), {"post": "yes"}).status_code == 404
    with operator_scope():
        assert Response.objects.filter(id=foreign).exists()


def test_a_member_looks_and_exports_and_an_admin_deletes(friend: Tenant) -> None:
    response_id = store(friend)
    member, admin = person_of(friend, "member"), person_of(friend, "admin")
    delete = page_of(response_id).replace("change", "delete")
    page = member.get(page_of(response_id)).content.decode()
    assert "Delete…" not in page
    assert "Export as JSON" in page
    assert member.get(delete).status_code == 403
    assert member.post(delete, {"post": "yes"}).status_code == 403
    selected = {"action": "delete_selected", "_selected_action": [response_id], "post": "yes"}
    member.post(RESPONSES, selected)
    with operator_scope():
        assert Response.objects.filter(id=response_id).exists()
    assert "Delete…" in admin.get(page_of(response_id)).content.decode()
    assert admin.post(delete, {"post": "yes"}).status_code == 302
    with operator_scope():
        assert not Response.objects.exists()


def test_nobody_asks_in_anothers_name(friend: Tenant, stranger: Tenant) -> None:
    store(stranger, {"metadata": {"a": "b"}})
    with tenant_scope(friend.id):
        foreign = Question(tenant_id=stranger.id, metadata=("a", "b"))
        assert browse(foreign, 5).ids == []
        assert browse(Question(key_id=uuid.uuid4()), 5).ids == []


def test_a_member_finds_the_way_to_the_list(member: Client, friend: Tenant) -> None:
    assert f'href="{RESPONSES}"' in member.get(RESPONSES).content.decode()
