"""Who may ask, and what is not there."""

import pytest

from tenants.keys import issue_key, revoke_key
from tenants.models import ApiKey, Tenant
from tenants.scoping import tenant_scope
from tests.integration.fixtures import MODEL, client
from tests.support.asgi import AsgiServer
from tests.support.client import Client, wait_until
from tests.support.upstream import ScriptedUpstream

CALLS = [
    ("POST", "/responses"),
    ("GET", "/responses"),
    ("GET", "/responses/resp_1"),
    ("DELETE", "/responses/resp_1"),
    ("GET", "/responses/resp_1/input_items"),
    ("GET", "/models"),
    ("GET", f"/models/{MODEL}"),
]


@pytest.mark.parametrize(("method", "path"), CALLS)
@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Bearer ak_unknown", "Basic YTpi", "ak_unknown", "Bearer \xff\xfe"],
)
def test_without_a_good_key_it_is_401_everywhere(
    authorization: str, method: str, path: str, friend: Client, upstream: ScriptedUpstream
) -> None:
    body = {"model": MODEL, "input": "Hello"} if method == "POST" else None
    answer = friend.request(method, path, body, {"authorization": authorization})
    assert (answer.status, answer.error["type"], answer.error["code"]) == (
        401,
        "invalid_request",
        "invalid_api_key",
    )
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "ak_unknown" not in answer.error["message"]
    assert upstream.requests() == []


def test_bearer_may_be_spelled_in_any_case(friend: Client) -> None:
    for word in ("bearer", "BEARER"):
        assert (
            friend.request("GET", "/models", headers={"authorization": f"{word} {friend.key}"}).status == 200
        )


def test_a_revoked_key_is_refused_at_once_in_this_process(
    friend: Client, stranger: Client, friend_tenant: Tenant, server: AsgiServer
) -> None:
    other = client(server, issue_key(friend_tenant, name="other"))
    assert friend.create(input="Hello").status == other.create(input="Hello").status == 200
    assert friend.key is not None
    with tenant_scope(friend_tenant.id):
        revoke_key(ApiKey.objects.get(last_four=friend.key[-4:], name="test"))
    wait_until(lambda: friend.get("/models").status == 401, timeout=3, what="the revoke", every=0.01)
    assert friend.create(input="Hello").status == 401
    assert other.create(input="Hello").status == stranger.get("/models").status == 200


@pytest.mark.parametrize(
    "path", ["/nothing", "/responses/resp_1/nothing", "/responses/resp_1/input_items/x", "/chat/completions"]
)
def test_an_unknown_url_is_404_in_the_one_shape(path: str, friend: Client) -> None:
    for method in ("GET", "POST"):
        answer = friend.request(method, path)
        assert (answer.status, answer.error["type"]) == (404, "not_found")
        assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/responses"),
        ("PATCH", "/responses/resp_1"),
        ("POST", "/responses/resp_1"),
        ("DELETE", "/models"),
        ("POST", "/models"),
    ],
)
def test_another_method_is_405_in_the_one_shape(method: str, path: str, friend: Client) -> None:
    answer = friend.request(method, path, {})
    assert (answer.status, answer.error["type"]) == (405, "invalid_request")


def test_models_are_listed_and_told_one_by_one(friend: Client) -> None:
    body = friend.get("/models").json()
    (model,) = body["data"]
    assert (body["object"], model["id"], model["object"]) == ("list", MODEL, "model")
    assert friend.get(f"/models/{MODEL}").json() == friend.get(f"/models/{MODEL}/").json() == model
    answer = friend.get("/models/no-such")
    assert (answer.status, answer.error["code"]) == (404, "model_not_found")
