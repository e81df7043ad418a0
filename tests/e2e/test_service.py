"""What tests of several files share is for each of them as if it were the first."""

from tests.support.client import Client
from tests.support.service import Service
from tests.support.upstream import ScriptedUpstream


def models_of(client: Client) -> set[str]:
    return {model["id"] for model in client.get("/models").json()["data"]}


def test_a_backend_of_one_test_is_gone_at_its_end(service: Service) -> None:
    before = models_of(service.friend)
    with ScriptedUpstream(actor=True) as upstream, service.backend("passing", upstream.base_url, "passing"):
        assert service.friend.create(model="passing", input="Hello").status == 200
        assert models_of(service.friend) == before | {"passing"}
    answer = service.friend.create(model="passing", input="Hello")
    assert (answer.status, answer.error["code"]) == (404, "model_not_found")
    assert models_of(service.friend) == before


def test_a_second_backend_of_a_model_is_not_asked_any_more_either(service: Service) -> None:
    nearly_all = ("--weight", "30000")
    with ScriptedUpstream(actor=True) as upstream:
        with service.backend("passing", upstream.base_url, str(service.friend.model), options=nearly_all):
            models_of(service.friend)  # read anew
            assert service.friend.create(input="Hello").status == 200
        assert service.friend.create(input="Hello").status == 200
        assert (len(upstream.requests()), len(service.upstream.requests())) == (1, 1)
