"""Hosts, methods and addresses that are not as they should be: the API's one error shape, whoever refuses."""

import pytest

from tests.integration.fixtures import MODEL
from tests.support.asgi import AsgiClient
from tests.support.client import Answer, Client

POD = {"host": "10.1.2.3:8000"}


def assert_one_shape(answer: Answer, status: int) -> None:
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.error) == {"message", "type", "param", "code"}
    assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize("host", ["10.1.2.3:8000", "pod-7", "a_b", ""])
def test_the_api_and_the_probes_are_answered_under_any_host(
    host: str, stranger: Client, root: Client
) -> None:
    for path in ("/responses", "/models", f"/models/{MODEL}"):
        assert stranger.request("GET", path, headers={"host": host}).status == 200
    assert root.request("GET", "/healthz", headers={"host": host}).status == 200
    assert "parts" in root.request("GET", "/readyz", headers={"host": host}).json()


@pytest.mark.parametrize("path", ["/admin", "/admin/", "/admin/login/", "/admin/tenants/tenant/"])
def test_the_admin_is_there_under_its_own_hosts_only(path: str, root: Client) -> None:
    assert root.get(path).status in (200, 301, 302)
    assert_one_shape(root.request("GET", path, headers=POD), 400)


def test_the_admin_without_a_slash_leads_to_the_admin(root: Client) -> None:
    answer = root.get("/admin")
    assert (answer.status, answer.headers["location"]) == (302, "/admin/")
    assert root.get("/administrators").status == 404


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/healthz/"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_probes_answer_another_method_with_405(method: str, path: str, root: Client) -> None:
    answer = root.request(method, path, {})
    assert_one_shape(answer, 405)
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/responses", {"GET", "HEAD", "POST"}),
        ("/responses/resp_x", {"GET", "HEAD", "DELETE"}),
        ("/responses/resp_x/input_items", {"GET", "HEAD"}),
        ("/models", {"GET", "HEAD"}),
    ],
)
@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "PATCH", "TRACE"])
def test_the_methods_that_there_are_stand_in_the_answer_to_another_one(
    method: str, path: str, allowed: set[str], stranger: Client
) -> None:
    answer = stranger.request(method, path)
    assert_one_shape(answer, 405)
    assert set(answer.headers["allow"].split(", ")) == allowed


def test_probes_have_no_options(root: Client) -> None:
    assert_one_shape(root.request("OPTIONS", "/healthz"), 405)


def test_a_client_does_not_choose_where_redirects_lead(root: Client) -> None:
    # What daphne makes of a client's header `Daphne-Root-Path`.
    assert isinstance(root, AsgiClient)
    scope = {**root._scope("GET", "/admin/", {}, False), "root_path": "//elsewhere.example"}
    with root.server.open(scope, [b""]) as exchange:
        answer = exchange.answer()
    assert answer.headers["location"] == "/admin/login/?next=/admin/"
