"""What operators and load balancers ask."""

import pytest

from tests.support.service import UPSTREAM_KEY, Service


def test_a_healthy_service_says_so_and_names_its_parts(service: Service) -> None:
    assert service.root.get("/healthz").status == 200
    ready = service.root.get("/readyz").json()
    assert set(ready["parts"].values()) == {"ok"}
    assert {"database", "valkey", "broker", "worker"} <= set(ready["parts"])


def test_logs_tell_ids_and_no_content(service: Service) -> None:
    mark = service.mark()
    response = service.friend.create(input="a very private question", metadata={"x": "a private note"}).json()
    printed = service.logs(mark)
    assert response["id"] in printed
    key = service.friend.key
    assert key is not None
    for secret in ("private", "You said", key, UPSTREAM_KEY):
        assert secret not in printed


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=x", "x/y; charset=ä"])
def test_a_body_of_any_type_reaches_the_service_which_refuses_it(kind: str, service: Service) -> None:
    answer = service.friend.request("POST", "/responses", b"--x", {"content-type": kind})
    assert (answer.status, answer.error["type"]) == (415, "invalid_request")
