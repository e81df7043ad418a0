"""Compaction: the window of `/v1/responses/compact`, the item that a trigger asks for, and what goes on behind both."""

import base64
from typing import Any

import openresponses_types
import pytest
from pytest_django import Settings

from responses_api.models import Backend, Item, Response, Route
from responses_api.protocol.plain import Json
from responses_api.sealing import open_seal, seal
from responses_api.services import routing
from responses_api.services.identity import now
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.fixtures import MODEL
from tests.support.asgi import AsgiExchange
from tests.support.chat import ToolCall, chat_calls, chat_error, chat_json, chat_stream, chunk, frame
from tests.support.checks import checked_response, checked_stream
from tests.support.client import Answer, Client, datas
from tests.support.upstream import ScriptedUpstream

TOOL: Json = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
TRIGGER: Json = {"type": "compaction_trigger"}
USER: Json = {"role": "user", "content": "The launch is on Tuesday, codename slate."}
RULE: Json = {"role": "developer", "content": "Be brief."}
CALL: Json = {"type": "function_call", "call_id": "call_c", "name": "weather", "arguments": '{"at": "A"}'}
OUTPUT: Json = {"type": "function_call_output", "call_id": "call_c", "output": "9C"}
CONVERSATION = [RULE, USER, {"role": "assistant", "content": "Understood."}, CALL, OUTPUT]
SUMMARY = "Tuesday, slate; the weather tool said 9C."


def compact(client: Client, **body: Any) -> Answer:
    """Ask for a compacted window."""
    return client.request("POST", "/responses/compact", {"model": MODEL, **body})


def window(client: Client, **body: Any) -> list[Json]:
    """A compacted window, checked against its schema."""
    answer = compact(client, **body)
    assert answer.status == 200, answer.body
    resource = answer.json()
    openresponses_types.CompactResource.model_validate(resource)
    assert resource["object"] == "response.compaction"
    output: list[Json] = resource["output"]
    return output


def only_compaction(items: list[Json]) -> Json:
    (found,) = [item for item in items if item["type"] == "compaction"]
    assert set(found) == {"type", "id", "encrypted_content"}
    assert found["id"].startswith("cmp_")
    return found


def texts(messages: list[Json]) -> list[tuple[str, Any]]:
    return [(message["role"], message["content"]) for message in messages]


def sent(upstream: ScriptedUpstream, number: int = -1) -> list[Json]:
    messages: list[Json] = upstream.requests()[number].body["messages"]
    return messages


def kept(items: list[Json]) -> list[tuple[str, str]]:
    return [(item["role"], item["content"][0]["text"]) for item in items if item["type"] == "message"]


# ---------------------------------------------------------------- the window


def test_a_window_keeps_what_the_model_did_not_write_and_seals_the_rest(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(SUMMARY, usage=(70, 50)))
    answer = compact(friend, input=CONVERSATION, instructions="Keep figures.")
    resource = answer.json()
    openresponses_types.CompactResource.model_validate(resource)
    assert set(resource) == {"id", "object", "output", "created_at", "usage"}
    assert resource["usage"]["total_tokens"] == 120
    *messages, last = resource["output"]
    assert kept(messages) == [("developer", "Be brief."), ("user", USER["content"])]
    assert all(item["id"].startswith("msg_") and item["status"] == "completed" for item in messages)
    assert only_compaction([last]) == last
    opened = open_seal(last["encrypted_content"], item_type="compaction", tenant_id=str(friend_tenant.id))
    assert opened.content == SUMMARY
    assert b"slate" not in base64.urlsafe_b64decode(last["encrypted_content"] + "==")
    (call,) = upstream.requests()
    system, transcript = call.body["messages"]
    assert system["role"] == "system"
    assert "Keep figures." in system["content"]
    for told in ("Be brief.", "codename slate", "Understood.", "weather, call_c", '{"at": "A"}', "9C"):
        assert told in transcript["content"]
    assert "tools" not in call.body
    assert friend.get(f"/responses/{resource['id']}").status == 404
    assert friend.get("/responses").json()["data"] == []


def test_a_window_is_the_base_of_a_new_chain(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_json(f"SUMMARY: {SUMMARY}"))
    base = window(friend, input=CONVERSATION)
    first = friend.create(input=[*base, {"role": "user", "content": "When?"}])
    checked_response(friend, first.json())
    rule, user, account, question = sent(upstream)
    assert texts([rule, user]) == [("system", "Be brief."), ("user", USER["content"])]
    assert account["role"] == "assistant"
    assert SUMMARY in account["content"]
    assert texts([question]) == [("user", "When?")]
    second = friend.create(input="Sure?", previous_response_id=first.json()["id"]).json()
    checked_response(friend, second)
    assert SUMMARY in sent(upstream)[2]["content"]
    assert texts(sent(upstream))[-1] == ("user", "Sure?")


def test_a_window_can_be_compacted_again(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream(SUMMARY))
    base = window(friend, input=CONVERSATION)
    upstream.reply(body=chat_stream("Still Tuesday."))
    again = window(friend, input=[*base, {"role": "user", "content": "When?"}])
    assert kept(again)[-1] == ("user", "When?")
    assert only_compaction(again) != only_compaction(base)
    assert SUMMARY in sent(upstream)[1]["content"]


def test_a_stored_chain_is_compacted_with_the_new_input(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    first = friend.create(input="My name is Ada.").json()
    upstream.reply(body=chat_stream("Ada was greeted."))
    base = window(friend, previous_response_id=first["id"], input="And I like figs.")
    assert kept(base) == [("user", "My name is Ada."), ("user", "And I like figs.")]
    assert "You said: My name is Ada." in sent(upstream)[1]["content"]
    foreign = compact(stranger, previous_response_id=first["id"])
    unknown = compact(stranger, previous_response_id="resp_" + "0" * 44)
    assert foreign.error["code"] == unknown.error["code"] == "previous_response_not_found"
    assert foreign.body == unknown.body.replace(b"resp_" + b"0" * 44, first["id"].encode())


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({}, 400, "input"),
        ({"input": []}, 400, "input"),
        ({"input": [TRIGGER]}, 400, "input"),
        ({"input": [CALL]}, 400, "input[0].call_id"),
        ({"input": "x", "model": "none"}, 404, "model"),
        ({"input": [{"type": "compaction", "encrypted_content": "e30"}]}, 400, "input[0].encrypted_content"),
        ({"input": "x", "instructions": 7}, 400, "instructions"),
    ],
)
def test_what_cannot_be_compacted_is_refused(
    body: Json, status: int, param: str, friend: Client, upstream: ScriptedUpstream
) -> None:
    answer = compact(friend, **body)
    assert (answer.status, answer.error["type"], answer.error["param"]) == (status, "invalid_request", param)
    assert upstream.requests() == []


def test_it_wants_a_key_and_post(root: Client, friend: Client) -> None:
    assert root.request("POST", "/v1/responses/compact", {"model": MODEL, "input": "x"}).status == 401
    other = friend.get("/responses/compact")
    assert (other.status, other.headers["allow"]) == (405, "POST")
    assert friend.request("POST", "/responses/compact/", b"{").error["type"] == "invalid_request"


@pytest.mark.parametrize(
    ("reply", "status", "kind", "code"),
    [
        ({"status": 429, "body": chat_error("slow down"), "headers": {"retry-after": "7"}}, 429, None, None),
        ({"status": 500, "body": chat_error("broken")}, 500, "model_error", None),
        ({"body": chat_stream()}, 500, "model_error", None),
        ({"body": chat_stream("Tues", finish=None, done=False)}, 500, "model_error", None),
        ({"body": chat_stream(finish="length")}, 500, "model_error", None),
        ({"body": frame(chunk({"refusal": "No."})) + chat_stream()}, 500, "model_error", None),
        ({"body": chat_calls(ToolCall("weather"))}, 500, "model_error", None),
    ],
)
def test_a_model_that_tells_no_summary_is_an_error(
    reply: Json, status: int, kind: str | None, code: str | None, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(**reply)
    answer = compact(friend, input=CONVERSATION)
    assert answer.status == status
    assert kind in (None, answer.error["type"])
    if status == 429:
        assert answer.headers["retry-after"] == "7"


# ---------------------------------------------------------------- the trigger


@pytest.mark.parametrize("stream", [False, True])
def test_a_trigger_is_answered_with_exactly_one_compaction_item(
    stream: bool, friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(SUMMARY, usage=(70, 50)))
    # As Codex asks: with its tools, and a choice that is none of the summary's.
    body: Json = {"input": [*CONVERSATION, TRIGGER], "tools": [TOOL], "tool_choice": "required"}
    if stream:
        exchange = friend.read_stream(**body)
        response = checked_stream(exchange, friend)
        kinds = [data.split('"type":"')[1].split('"')[0] for data in datas(exchange.raw)[:-1]]
        assert kinds == [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.output_item.done",
            "response.completed",
        ]
    else:
        response = checked_response(friend, friend.create(**body).json())
    assert response["status"] == "completed"
    assert [only_compaction(response["output"])] == response["output"]
    assert response["usage"]["total_tokens"] == 120
    listed = friend.get(f"/responses/{response['id']}/input_items?order=asc").json()["data"]
    assert [item["type"] for item in listed] == ["message"] * 3 + ["function_call", "function_call_output"]
    assert stranger.get(f"/responses/{response['id']}").status == 404


def test_a_trigger_in_the_background_is_answered_there(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream(SUMMARY))
    exchange = friend.read_stream(input=[*CONVERSATION, TRIGGER], background=True)
    response = checked_stream(exchange, friend)
    assert [only_compaction(response["output"])] == response["output"]
    friend.create(input="When?", previous_response_id=response["id"])
    assert SUMMARY in sent(upstream)[2]["content"]


def test_a_chain_goes_on_from_the_compacted_window(friend: Client, upstream: ScriptedUpstream) -> None:
    first = friend.create(input=CONVERSATION, tools=[TOOL]).json()
    upstream.reply(body=chat_stream(SUMMARY))
    body: Json = {"input": [{"role": "user", "content": "Go on."}, TRIGGER]}
    compacted = friend.create(**body, previous_response_id=first["id"]).json()
    assert [only_compaction(compacted["output"])] == compacted["output"]
    third = friend.create(input="When?", previous_response_id=compacted["id"]).json()
    checked_response(friend, third)
    fourth = friend.create(input="Sure?", previous_response_id=third["id"]).json()
    told = texts(sent(upstream))
    assert told[:3] == [("system", "Be brief."), ("user", USER["content"]), ("user", "Go on.")]
    assert SUMMARY in told[3][1]
    assert told[4:] == [("user", "When?"), ("assistant", "You said: When?"), ("user", "Sure?")]
    assert not any("tool_calls" in message for message in sent(upstream))
    # The window that the other call makes of the same chain is the same.
    upstream.reply(body=chat_stream("All of it."))
    assert kept(window(friend, previous_response_id=fourth["id"])) == [
        ("developer", "Be brief."),
        *(("user", text) for text in (USER["content"], "Go on.", "When?", "Sure?")),
    ]


def test_what_was_compacted_does_not_count_any_more(
    friend: Client, settings: Settings, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("word " * 2000))
    first = friend.create(input="Tell me.").json()
    settings.MAX_CONTEXT_BYTES = 5_000
    assert (
        friend.create(input="?", previous_response_id=first["id"]).error["code"] == "context_length_exceeded"
    )
    settings.MAX_CONTEXT_BYTES = 50_000
    upstream.reply(body=chat_stream("A long tale."))
    compacted = friend.create(input=[TRIGGER], previous_response_id=first["id"]).json()
    settings.MAX_CONTEXT_BYTES = 5_000
    assert friend.create(input="?", previous_response_id=compacted["id"]).status == 200


def test_a_trigger_that_stores_nothing_leaves_nothing(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(SUMMARY))
    body: Json = {"input": [*CONVERSATION, TRIGGER], "store": False}
    response = checked_stream(friend.read_stream(**body))
    item = only_compaction(response["output"])
    with tenant_scope(friend_tenant.id):
        assert not Response.objects.exists()
        assert not Item.objects.exists()
    answer = friend.create(input=[USER, item, {"role": "user", "content": "When?"}], store=False)
    assert answer.status == 200
    assert SUMMARY in sent(upstream)[1]["content"]


@pytest.mark.parametrize(
    ("given", "param"),
    [([TRIGGER], "input"), ([TRIGGER, USER], "input[0]"), ([USER, TRIGGER, TRIGGER], "input[1]")],
)
def test_a_trigger_stands_at_the_end_of_something(given: list[Json], param: str, friend: Client) -> None:
    answer = friend.create(input=given)
    assert (answer.status, answer.error["param"]) == (400, param)


def test_a_model_that_is_cut_short_before_its_first_word_makes_the_response_incomplete(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(finish="length"))
    response = checked_stream(friend.read_stream(input=[USER, TRIGGER]), friend)
    assert (response["status"], response["output"]) == ("incomplete", [])
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}


def test_a_summary_that_breaks_off_says_so(
    friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Tuesday, sl", finish="length"))
    item = only_compaction(friend.create(input=[USER, TRIGGER], max_output_tokens=16).json()["output"])
    told = open_seal(
        item["encrypted_content"], item_type="compaction", tenant_id=str(friend_tenant.id)
    ).content
    assert told.startswith("Tuesday, sl\n")
    assert "breaks off" in told
    assert upstream.requests()[0].body["max_tokens"] == 16


def test_a_stream_whose_backend_breaks_off_ends_as_failed(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream("Tues", finish=None, done=False))
    response = checked_stream(friend.read_stream(input=[USER, TRIGGER]), friend)
    assert (response["status"], response["output"]) == ("failed", [])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/responses", {"input": [USER, TRIGGER], "stream": True}),
        ("/responses", {"input": [USER, TRIGGER]}),
        ("/responses/compact", {"input": [USER]}),
    ],
)
def test_a_client_that_leaves_stops_the_summary(
    path: str, body: Json, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Tues", finish=None, done=False), end="hang")
    exchange = friend.open("POST", path, {"model": MODEL, **body})
    assert isinstance(exchange, AsgiExchange)
    request = upstream.wait_request()
    request.wait_paused()
    exchange.close()
    exchange.wait_returned()
    request.wait_closed(2.0)


# ---------------------------------------------------------------- long conversations


def long_conversation(count: int) -> list[Json]:
    return [
        {"role": role, "content": f"{role} {number} " + "x" * 600}
        for number in range(count)
        for role in ("user", "assistant")
    ]


def test_a_long_conversation_is_told_shorter_in_parts(
    friend: Client, friend_tenant: Tenant, settings: Settings, upstream: ScriptedUpstream
) -> None:
    settings.COMPACTION_CHARACTERS = 2_000
    for text in ("one", "two", "three", "all of it"):
        upstream.reply(body=chat_stream(text, usage=(7, 5)))
    answer = compact(friend, input=long_conversation(4)).json()
    calls = [request.body["messages"][1]["content"] for request in upstream.requests()]
    assert len(calls) == 4
    for number in range(4):
        for role in ("user", "assistant"):
            assert sum(f"{role} {number} x" in call for call in calls[:3]) == 1
    for text in ("one", "two", "three"):
        assert text in calls[3]
    assert answer["usage"]["total_tokens"] == 4 * 12
    item = only_compaction(answer["output"])
    opened = open_seal(item["encrypted_content"], item_type="compaction", tenant_id=str(friend_tenant.id))
    assert opened.content == "all of it"


def test_a_model_that_says_it_is_too_much_gets_less(friend: Client, upstream: ScriptedUpstream) -> None:
    overflow = chat_error("maximum context length is 8 tokens", code="context_length_exceeded")
    upstream.reply(status=400, body=overflow)
    upstream.reply(status=400, body=overflow)
    upstream.reply(body=chat_stream("some"), always=True)
    assert compact(friend, input=long_conversation(4)).status == 200
    sizes = [len(request.body["messages"][1]["content"]) for request in upstream.requests()]
    assert sizes[0] > 1.8 * sizes[1] > 3.2 * max(sizes[2:])
    upstream.clear()
    upstream.reply(status=400, body=overflow, always=True)
    answer = compact(friend, input=long_conversation(4))
    assert (answer.status, answer.error["code"]) == (400, "context_length_exceeded")
    assert len(upstream.requests()) < 10


def test_the_size_of_a_part_follows_the_context_window(
    friend: Client, backend: Backend, upstream: ScriptedUpstream
) -> None:
    Route.objects.filter(backend=backend).update(context_window=1_000)
    routing.read_models()
    upstream.reply(body=chat_stream("some"), always=True)
    assert compact(friend, input=long_conversation(4)).status == 200
    first = upstream.requests()[0].body
    assert len(first["messages"][1]["content"]) < 1_600
    assert first["max_tokens"] == 250


def test_summaries_that_do_not_get_shorter_end_it(
    friend: Client, settings: Settings, upstream: ScriptedUpstream
) -> None:
    settings.COMPACTION_CHARACTERS = 1_000
    upstream.reply(body=chat_stream("y" * 900), always=True)
    assert compact(friend, input=long_conversation(2)).status == 200
    assert len(upstream.requests()) < 20


def test_what_is_no_text_is_named(friend: Client, upstream: ScriptedUpstream) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    linked = {"type": "input_image", "image_url": "https://example.com/a.png"}
    file = {"type": "input_file", "filename": "plan.pdf", "file_data": "JVBERi0="}
    video = {"type": "input_video", "video_url": "https://example.com/v.mp4"}
    given = [
        {"role": "user", "content": [image, file]},
        CALL,
        {**OUTPUT, "output": [linked, video]},
        {"type": "acme:note", "id": "n1", "body": "remember"},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "private"}]},
    ]
    upstream.reply(body=chat_stream("Seen."))
    base = window(friend, input=given)
    told = sent(upstream)[1]["content"]
    for named in (
        "image/png",
        "plan.pdf",
        "https://example.com/a.png",
        "https://example.com/v.mp4",
        "remember",
    ):
        assert named in told
    assert "iVBORw0KGgo" not in told
    assert "private" not in told
    assert [part["type"] for part in base[0]["content"]] == ["input_image", "input_file"]


# ---------------------------------------------------------------- whose it is


def test_a_compaction_item_is_the_tenants_own(
    friend: Client,
    friend_tenant: Tenant,
    stranger_tenant: Tenant,
    settings: Settings,
    upstream: ScriptedUpstream,
) -> None:
    foreign = seal(SUMMARY, item_type="compaction", tenant_id=str(stranger_tenant.id), source={}, at=now())
    own = seal(SUMMARY, item_type="compaction", tenant_id=str(friend_tenant.id), source={}, at=now())
    other_type = seal(SUMMARY, item_type="reasoning", tenant_id=str(friend_tenant.id), source={}, at=now())
    bodies = set()
    for text in (
        foreign,
        own[:30] + "A" + own[31:] if own[30] != "A" else own[:30] + "B" + own[31:],
        other_type,
        "",
    ):
        given = [USER, {"type": "compaction", "encrypted_content": text}]
        answer = friend.create(input=given)
        assert (answer.status, answer.error["code"]) == (400, "invalid_encrypted_content")
        assert answer.error["param"] == "input[1].encrypted_content"
        assert compact(friend, input=given).body == answer.body
        bodies.add(answer.body)
    assert len(bodies) == 1
    assert upstream.requests() == []
    given = [USER, {"type": "compaction", "encrypted_content": own}]
    assert friend.create(input=given).status == 200
    settings.SEAL_DAYS = -1.0
    assert friend.create(input=given).error["code"] == "encrypted_content_expired"


def test_a_chain_whose_compaction_does_not_open_any_more_is_refused(
    friend: Client, settings: Settings, upstream: ScriptedUpstream
) -> None:
    settings.SEAL_KEYS = (b"a" * 32,)
    upstream.reply(body=chat_stream(SUMMARY))
    first = friend.create(input=[USER, TRIGGER]).json()
    settings.SEAL_KEYS = (b"b" * 32,)
    answer = friend.create(input="When?", previous_response_id=first["id"])
    assert (answer.status, answer.error["code"]) == (400, "invalid_encrypted_content")
    assert answer.error["param"] == "previous_response_id"
    assert len(upstream.requests()) == 1


def test_tokens_of_a_compacted_window_are_counted(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(body=chat_stream("word " * 100))
    base = window(friend, input=CONVERSATION)
    counted = friend.request("POST", "/responses/input_tokens", {"model": MODEL, "input": base})
    assert counted.json()["input_tokens"] > 100
