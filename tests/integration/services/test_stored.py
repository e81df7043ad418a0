"""Stored responses over HTTP: read, listed page by page, deleted, and unknown to everybody else."""

import pytest

from responses_api.models import Item
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.services import running
from tenants.models import Tenant
from tenants.scoping import operator_scope
from tests.integration.builders import stored
from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream


@pytest.fixture
def five(friend_tenant: Tenant, stranger_tenant: Tenant) -> list[str]:
    """Ids of the friend's five responses, oldest first; the stranger's stand between them."""
    ids = []
    for number in range(5):
        ids.append(stored(friend_tenant, str(number))["id"])
        stored(stranger_tenant, "foreign")
    return ids


@pytest.fixture
def with_items(friend_tenant: Tenant) -> str:
    """A response with five input items whose texts count from 0."""
    return str(stored(friend_tenant, [{"role": "user", "content": str(n)} for n in range(5)])["id"])


def ids_of(body: Json) -> list[str]:
    assert body["object"] == "list"
    ids = [entry["id"] for entry in body["data"]]
    assert (body["first_id"], body["last_id"]) == ((ids[0], ids[-1]) if ids else (None, None))
    return ids


def walk(client: Client, path: str, order: str, limit: int) -> list[str]:
    """All ids of a list, page by page."""
    found: list[str] = []
    after = ""
    while True:
        body = client.get(f"{path}?order={order}&limit={limit}{after}").json()
        found += ids_of(body)
        assert len(body["data"]) <= limit
        if not body["has_more"]:
            return found
        after = f"&after={found[-1]}"


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_pages_of_a_list_add_up_in_both_orders(limit: int, friend: Client, five: list[str]) -> None:
    assert walk(friend, "/responses", "asc", limit) == five
    assert walk(friend, "/responses", "desc", limit) == five[::-1]


def test_the_newest_come_first_and_each_is_what_get_tells(friend: Client, five: list[str]) -> None:
    body = friend.get("/responses").json()
    assert ids_of(body) == five[::-1]
    assert body["data"][0] == friend.get(f"/responses/{five[-1]}").json()


def test_an_empty_list_has_no_ends(stranger: Client, friend_tenant: Tenant) -> None:
    stored(friend_tenant)
    body = stranger.get("/responses").json()
    assert (ids_of(body), body["has_more"]) == ([], False)


def test_the_list_goes_on_after_an_entry_that_was_deleted(friend: Client, five: list[str]) -> None:
    friend.delete(f"/responses/{five[2]}")
    assert ids_of(friend.get(f"/responses?order=asc&after={five[2]}").json()) == five[3:]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_pages_of_input_items_add_up_in_both_orders(limit: int, friend: Client, with_items: str) -> None:
    path = f"/responses/{with_items}/input_items"
    forth = walk(friend, path, "asc", limit)
    assert walk(friend, path, "desc", limit) == forth[::-1]
    data = friend.get(f"{path}?order=asc").json()["data"]
    assert [item["content"][0]["text"] for item in data] == list("01234")
    assert {item["status"] for item in data} == {"completed"}


def test_an_anchor_that_is_not_of_this_response_is_refused(
    friend: Client, with_items: str, five: list[str], friend_tenant: Tenant
) -> None:
    other = friend.get(f"/responses/{five[0]}/input_items").json()["first_id"]
    for anchor in ("msg_unknown", other):
        answer = friend.get(f"/responses/{with_items}/input_items?after={anchor}")
        assert (answer.status, answer.error["param"]) == (400, "after")


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("limit=-1", "limit"),
        ("limit=1e1", "limit"),
        ("limit=%D9%A1", "limit"),
        ("order=up", "order"),
        ("after=%00", "after"),
        ("after=a%20b", "after"),
        ("before=msg_1", "before"),
        (f"after={'x' * 65}", "after"),
    ],
)
def test_pages_that_make_no_sense_are_refused(
    query: str, param: str, friend: Client, with_items: str
) -> None:
    for path in ("/responses", f"/responses/{with_items}/input_items"):
        answer = friend.get(f"{path}?{query}")
        assert (answer.status, answer.error["param"]) == (400, param)
        assert answer.error["type"] == "invalid_request"


@pytest.mark.parametrize("anchor", ["resp_x", "msg_1", "resp_" + "G" * 44, "resp_" + "0" * 43])
def test_a_list_of_responses_starts_after_no_other_things(anchor: str, friend: Client) -> None:
    answer = friend.get(f"/responses?after={anchor}")
    assert (answer.status, answer.error["param"]) == (400, "after")


def test_a_list_of_responses_starts_after_an_id_that_is_unknown_here(friend: Client, five: list[str]) -> None:
    latest, first = f"resp_{'f' * 44}", f"resp_{'0' * 44}"
    assert len(friend.get(f"/responses?after={latest}").json()["data"]) == 5
    assert friend.get(f"/responses?after={first}").json()["data"] == []


def test_deleting_takes_the_items_too_and_nothing_else(
    friend: Client, stranger: Client, five: list[str], stranger_tenant: Tenant
) -> None:
    answer = friend.delete(f"/responses/{five[0]}")
    assert answer.json() == {"id": five[0], "object": "response", "deleted": True}
    assert_unknown_to(friend, five[0])
    with operator_scope():
        assert Item.objects.filter(response_id=five[0]).count() == 0
        assert Item.objects.count() == 4 * 2 + 5 * 2
    assert len(stranger.get("/responses").json()["data"]) == 5


def test_another_tenants_response_is_unknown_and_stays(
    friend: Client, stranger: Client, five: list[str]
) -> None:
    assert_unknown_to(stranger, five[0])
    assert friend.get(f"/responses/{five[0]}").status == 200


@pytest.mark.parametrize(
    "odd",
    ["resp_%00", "%00", "resp_1%0A", "x" * 65, "x" * 500, "%F0%9F%99%82", "%FF", "..", "%25", "a%20b", "'"],
)
@pytest.mark.parametrize(
    ("method", "below"), [("GET", ""), ("DELETE", ""), ("GET", "/input_items"), ("GET", "/input_items/")]
)
def test_ids_that_cannot_be_are_unknown(odd: str, method: str, below: str, stranger: Client) -> None:
    unknown = stranger.request(method, f"/responses/resp_1{below}")
    answer = stranger.request(method, f"/responses/{odd}{below}")
    assert (answer.status, answer.error["type"]) == (404, "not_found")
    assert {**answer.error, "message": ""} == {**unknown.error, "message": ""}


@pytest.mark.parametrize(
    "odd", ["%00", "x%00", "%0A", "a%0Ab", "..", "%FF", "%F0%9F%99%82", "x" * 5000, "a%2Fb", "%"]
)
def test_models_that_cannot_be_are_unknown(odd: str, stranger: Client) -> None:
    answer = stranger.get(f"/models/{odd}")
    assert answer.status == 404
    assert set(answer.error) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    "path", ["/responses", "/responses/{id}", "/responses/{id}/input_items", "/models", "/models/test-model"]
)
@pytest.mark.parametrize(("query", "param"), [("x=%00", "x"), ("limit=1%00", "limit"), ("x%00=1", "x")])
def test_a_nul_in_a_query_is_refused(
    path: str, query: str, param: str, stranger: Client, stranger_tenant: Tenant
) -> None:
    answer = stranger.get(f"{path.format(id=stored(stranger_tenant)['id'])}?{query}")
    assert (answer.status, answer.error["type"], answer.error["param"]) == (400, "invalid_request", param)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("starting_after=3", "starting_after"),
        ("stream=false&starting_after=3", "starting_after"),
        ("include=x", "include"),
        ("include[]=message.output_text.logprobs&include[]=web_search_call.results", "include"),
        ("include%5B0%5D=", "include"),
    ],
)
def test_what_retrieving_does_not_serve_is_refused(
    query: str, param: str, stranger: Client, stranger_tenant: Tenant
) -> None:
    path = f"/responses/{stored(stranger_tenant)['id']}"
    answer = stranger.get(f"{path}?{query}")
    assert (answer.status, answer.error["type"], answer.error["param"]) == (400, "invalid_request", param)


@pytest.mark.parametrize("name", ["include", "include[]", "include[0]"])
def test_known_values_of_include_are_taken_however_a_list_is_written(
    name: str, stranger: Client, stranger_tenant: Tenant
) -> None:
    path = f"/responses/{stored(stranger_tenant)['id']}"
    query = f"{name}=reasoning.encrypted_content&{name}=message.output_text.logprobs"
    for asked in (path, f"{path}/input_items"):
        assert stranger.get(f"{asked}?{query}").json() == stranger.get(asked).json()
    assert stranger.get(f"{path}/input_items?include=x").error["param"] == "include"


def test_a_stranger_has_nothing_read_of_a_response_that_runs(
    friend: Client, stranger: Client, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = chat_stream("Hel", "lo")
    upstream.reply(body=body, pause_at=body.index(b"lo"))
    with friend.stream(input="Hello") as exchange:
        response_id = exchange.read_event("response.created")["response"]["id"]
        read: list[bytes] = []

        class Watched(Job):
            @classmethod
            def from_bytes(cls, data: bytes) -> Job:
                read.append(data)
                return Job.from_bytes(data)

        monkeypatch.setattr(running, "Job", Watched)
        assert_unknown_to(stranger, response_id)
        assert read == []
        assert friend.get(f"/responses/{response_id}").json()["status"] == "in_progress"
        assert len(read) == 1
        upstream.wait_request().resume()
        exchange.read_all()
