"""Every call of the API and every message of the socket, with ids of the friend's."""

import uuid
from typing import Any

import pytest

from responses_api.http.reference.calls import CALLS
from responses_api.models import Item
from responses_api.protocol.plain import Json
from tenants.scoping import tenant_scope
from tests.integration.websocket.conftest import Connect
from tests.isolation.conftest import MODEL, World
from tests.isolation.test_pages import leaked
from tests.support.client import Answer, Client
from tests.support.websocket import Refused


def ask(client: Client, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    """One request, whatever it is."""
    with client.open(method, path, body, headers) as exchange:
        return exchange.answer()


def text_of(answer: Answer) -> str:
    return answer.body.decode() + str(answer.headers)


def calls_about(response_id: str) -> list[tuple[str, str]]:
    """Every call that names a response, as method and path."""
    return [
        (call.method.upper(), call.path.replace("{response_id}", response_id).removeprefix("/v1"))
        for call in CALLS
        if "{response_id}" in call.path
    ]


def test_a_foreign_response_is_as_unknown_as_one_that_never_was(world: World) -> None:
    never = world.friend.response_id[:-4] + "0000"
    unlike = []
    client = world.clients["a stranger's key"]
    for foreign, unknown in zip(calls_about(world.friend.response_id), calls_about(never), strict=True):
        answers = [ask(client, *call) for call in (foreign, unknown)]
        ids = (world.friend.response_id, never)
        bodies = [answer.body.decode().replace(name, "") for answer, name in zip(answers, ids, strict=True)]
        if [answer.status for answer in answers] != [404, 404] or bodies[0] != bodies[1]:
            unlike.append((foreign, [answer.status for answer in answers], bodies))
    assert unlike == []


def test_a_foreign_file_is_as_unknown_as_one_that_never_was(world: World) -> None:
    before, never = world.friend.fingerprint(), world.friend.file_id[:-4] + "0000"
    client = world.clients["a stranger's key"]
    told = []
    for file_id in (world.friend.file_id, never):
        about = [("GET", ""), ("GET", "/content"), ("HEAD", "/content"), ("DELETE", "")]
        answers = [ask(client, method, f"/files/{file_id}{rest}") for method, rest in about]
        assert {answer.status for answer in answers} == {404}
        told.append([answer.body.decode().replace(file_id, "") for answer in answers])
    assert told[0] == told[1]
    assert world.friend.fingerprint() == before


def test_no_call_tells_anything_of_the_friend(world: World) -> None:
    found = []
    for call in CALLS:
        path = call.path.replace("{response_id}", world.friend.response_id).replace("{model}", MODEL)
        path = path.replace("{name}", MODEL).replace("{file_id}", world.friend.file_id).removeprefix("/v1")
        body = {"model": MODEL, "input": "Hello"} if call.body is not None else None
        for who, client in world.clients.items():
            if body is not None and who == "a stranger's key":
                continue  # would wait for a worker; what it may name is tried below
            answer = ask(client, call.method.upper(), path, body)
            leaks = leaked(world.friend, text_of(answer), path)
            if leaks or answer.status == 500:
                found.append((who, call.method, path, answer.status, leaks))
            if call.needs_key and who != "a stranger's key" and answer.status != 401:
                found.append((who, call.method, path, answer.status, ["should be 401"]))
    assert found == []


def _items(world: World) -> list[str]:
    with tenant_scope(world.friend.tenant.id):
        return list(Item.objects.values_list("id", flat=True))


def foreign_bodies(world: World) -> list[tuple[str, Json]]:
    """Requests that name what is the friend's, and the field that names it."""
    return [
        ("previous_response_id", {"input": "go on", "previous_response_id": world.friend.response_id}),
        *(("input[0].id", {"input": [{"type": "item_reference", "id": item}]}) for item in _items(world)),
    ]


def test_nothing_foreign_can_be_continued_or_referred_to(world: World, running_worker: None) -> None:
    client = world.clients["a stranger's key"]
    before = world.friend.fingerprint()
    for path in ("/responses", "/responses/compact", "/responses/input_tokens"):
        for field, body in foreign_bodies(world):
            answer = ask(client, "POST", path, {"model": MODEL, **body})
            assert answer.status == 400, (path, body, answer.body)
            assert answer.error["param"].startswith(field.split("[")[0])
            assert leaked(world.friend, text_of(answer), str(body)) == []
    assert world.friend.fingerprint() == before


def test_what_was_sealed_for_the_friend_opens_for_nobody_else(world: World, running_worker: None) -> None:
    compacted = ask(
        world.friend_client,
        "POST",
        "/responses/compact",
        {"model": MODEL, "input": f"I am {world.friend.mark}."},
    )
    sealed = [item for item in compacted.json()["output"] if item["type"] == "compaction"]
    asked = {"model": MODEL, "input": [*sealed, {"role": "user", "content": "Who am I?"}]}
    answer = ask(world.clients["a stranger's key"], "POST", "/responses", asked)
    assert answer.status == 400
    assert leaked(world.friend, text_of(answer), "") == []


def test_the_same_key_for_sending_again_is_two_for_two_tenants(world: World, running_worker: None) -> None:
    key = {"Idempotency-Key": f"key-{uuid.uuid4()}"}
    answers = [
        ask(client, "POST", "/responses", {"model": MODEL, "input": "Hello"}, **key)
        for client in (world.friend_client, world.clients["a stranger's key"])
    ]
    assert [answer.status for answer in answers] == [200, 200]
    assert answers[0].json()["id"] != answers[1].json()["id"]


def test_a_running_background_response_is_nobody_elses(world: World, running_worker: None) -> None:
    asked = {"model": MODEL, "input": "Hello", "background": True}
    running = ask(world.friend_client, "POST", "/responses", asked).json()["id"]
    client = world.clients["a stranger's key"]
    for method, path in calls_about(running):
        assert ask(client, method, path).status == 404
    assert ask(world.friend_client, "GET", f"/responses/{running}").status == 200


@pytest.mark.parametrize("generate", [True, False])
def test_a_socket_continues_nothing_foreign(
    world: World, connect: Connect, running_worker: None, generate: bool
) -> None:
    socket = connect(world.clients["a stranger's key"])
    for field, body in foreign_bodies(world):
        socket.create(**body, **({} if generate else {"generate": False}))
        envelope = socket.read_error()
        assert envelope["status"] == 400
        assert envelope["error"]["param"].startswith(field.split("[")[0])
        assert leaked(world.friend, str(envelope), str(body)) == []


def test_a_revoked_key_opens_no_socket(world: World, connect: Connect) -> None:
    with pytest.raises(Refused) as refused:
        connect(None, key=world.friend.revoked_text)
    assert refused.value.args[0] == 401
