"""A model behind a backend that speaks generateContent: what reaches it, and what comes back to the client."""

from typing import Any

import orjson
import pytest

from responses_api.models import Backend, Route
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tests.integration.fixtures import UPSTREAM_KEY
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client
from tests.support.gemini import (
    call_part,
    gemini_error,
    gemini_json,
    gemini_stream,
    text_part,
    thought_part,
)
from tests.support.upstream import Request, ScriptedUpstream

MODEL = "gem"
UPSTREAM_MODEL = "gemini-3-flash"
INCLUDE = ["reasoning.encrypted_content"]
DUMMY = "skip_thought_signature_validator"
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
LIST: Json = {"type": "function", "name": "list_all"}
TOOLS = [WEATHER, LIST]
PNG = "data:image/png;base64,iVBORw0KGgo="

pytestmark = pytest.mark.usefixtures("gemini")


@pytest.fixture
def gemini(backend: Backend, upstream: ScriptedUpstream) -> Backend:
    """A backend of this kind, with two models."""
    made = Backend.objects.create(
        name="gemini",
        kind="gemini",
        base_url=upstream.base_url,
        api_key_env="TEST_UPSTREAM_KEY",
        token_counting="gemini",
    )
    Route.objects.create(model=MODEL, backend=made, upstream_model=UPSTREAM_MODEL)
    Route.objects.create(model="gem-other", backend=made, upstream_model="gemini-3-pro")
    routing.read_models()
    return made


def create(client: Client, *, stream: bool = False, **body: Any) -> Json:
    """A response, checked as a stream or as JSON."""
    body = {"model": MODEL, **body}
    if stream:
        return checked_stream(client.read_stream(**body), client if body.get("store", True) else None)
    answer = client.create(**body)
    assert answer.status == 200, answer.body
    told = answer.json()
    return checked_response(client, told) if body.get("store", True) else told


def last(upstream: ScriptedUpstream) -> Request:
    return upstream.requests()[-1]


def contents(upstream: ScriptedUpstream) -> list[Json]:
    told: list[Json] = last(upstream).body["contents"]
    return told


def turns(upstream: ScriptedUpstream) -> list[list[Json]]:
    """What the model said, turn by turn, as it is sent back."""
    return [content["parts"] for content in contents(upstream) if content["role"] == "model"]


def answers(upstream: ScriptedUpstream) -> list[list[tuple[str, Any]]]:
    """The answers to calls, content by content."""
    told = [
        [
            (part["functionResponse"]["name"], part["functionResponse"]["response"])
            for part in content["parts"]
            if "functionResponse" in part
        ]
        for content in contents(upstream)
    ]
    return [one for one in told if one]


def output(call_id: str, value: Any) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def calls_in(response: Json) -> list[Json]:
    return [item for item in response["output"] if item["type"] == "function_call"]


# ---------------------------------------------------------------- the way there and back


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_is_asked_and_answers(
    stream: bool, friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    response = create(friend, input="Hello there", instructions="Be brief.", stream=stream)
    assert output_text(response) == "You said: Hello there"
    assert response["usage"]["input_tokens"] > 0
    request = last(upstream)
    assert request.path == f"/v1/models/{UPSTREAM_MODEL}:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == UPSTREAM_KEY
    assert "authorization" not in request.headers
    assert stranger.get(f"/responses/{response['id']}").status == 404


def test_thoughts_are_a_summary_of_the_reasoning(friend: Client) -> None:
    response = create(friend, input="Hello", reasoning={"effort": "low", "summary": "auto"}, stream=True)
    reasoning, message = response["output"][:2]
    assert (reasoning["type"], reasoning["summary"]) == (
        "reasoning",
        [{"type": "summary_text", "text": "Let me think."}],
    )
    assert "content" not in reasoning
    assert message["content"][0]["text"] == "You said: Hello"


def test_an_image_a_schema_and_a_forced_function_are_taken(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    image = {"type": "input_image", "image_url": PNG}
    seen = create(
        friend, input=[{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, image]}]
    )
    assert output_text(seen).startswith("I see an image")
    pet = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    schema = {
        "type": "object",
        "$defs": {"Pet": pet},
        "properties": {"pet": {"$ref": "#/$defs/Pet", "description": "Yours."}},
        "required": ["pet"],
    }
    told = create(friend, input="x", text={"format": {"type": "json_schema", "name": "p", "schema": schema}})
    assert orjson.loads(output_text(told)) == {"pet": {"name": "San Francisco"}}
    forced = create(friend, input="x", tools=TOOLS, tool_choice={"type": "function", "name": "list_all"})
    assert [call["name"] for call in calls_in(forced)] == ["list_all"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("store", [False, True])
def test_a_tool_loop_of_several_rounds_keeps_every_rule_of_the_reference(
    store: bool, stream: bool, friend: Client, upstream: ScriptedUpstream
) -> None:
    """The upstream refuses a call of the turn without its own signature, and answers that are not where they belong."""
    conversation: list[Json] = [{"role": "user", "content": "What is the weather?"}]
    previous: Json = {}
    for number in range(3):
        asked: Json = {"previous_response_id": previous["id"]} if store and previous else {}
        body: Json = {"input": conversation, "tools": TOOLS, "store": store, "include": INCLUDE, **asked}
        response = create(friend, stream=stream, **body)
        calls = calls_in(response)
        new = [output(call["call_id"], f"{number} degrees") for call in calls]
        if not calls:
            new = [{"role": "user", "content": "And now? get_weather"}]
        conversation = new if store else [*conversation, *response["output"], *new]
        previous = response
    signatures = [
        part["thoughtSignature"] for parts in turns(upstream) for part in parts if "functionCall" in part
    ]
    assert signatures
    assert DUMMY not in signatures


# ---------------------------------------------------------------- signatures

SIGNED = [
    thought_part("Look it up."),
    text_part("I look: ", "c2lnL3RleHQ+"),
    call_part("get_weather", {"city": "Porto"}, id="gcall_1", signature="R1NJRy0x+/=="),
    call_part("get_weather", {"city": "Braga"}, id="gcall_2"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_a_loop_that_stores_nothing_gives_back_every_signature_byte_by_byte_where_it_was(
    whole: bool, stream: bool, friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply("gemini", body=gemini_json(*SIGNED) if whole else gemini_stream(*SIGNED))
    upstream.reply("gemini", body=gemini_stream(call_part("list_all", signature="c2Vjb25k")))
    upstream.reply("gemini", body=gemini_stream(text_part("18C")))
    conversation: list[Json] = [{"role": "user", "content": "Porto?"}]
    seen: list[str] = []
    for _ in range(2):
        response = create(
            friend, input=conversation, tools=TOOLS, store=False, include=INCLUDE, stream=stream
        )
        seen += [item["encrypted_content"] for item in response["output"] if "encrypted_content" in item]
        conversation += [
            *response["output"],
            *(output(call["call_id"], "18C") for call in calls_in(response)),
        ]
    assert output_text(create(friend, input=conversation, tools=TOOLS, store=False, stream=stream)) == "18C"
    first, second = turns(upstream)
    assert first == SIGNED[1:]
    (again,) = second
    assert again["thoughtSignature"] == "c2Vjb25k"
    assert answers(upstream) == [[("get_weather", {"output": "18C"})] * 2, [("list_all", {"output": "18C"})]]
    assert not any("R1NJRy0x" in text for text in seen), "sealed"
    refused = stranger.create(model=MODEL, input=conversation, store=False)
    assert (refused.status, refused.error["code"]) == (400, "invalid_encrypted_content")


def test_a_chain_keeps_the_signatures_that_nobody_was_shown(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply("gemini", body=gemini_stream(*SIGNED))
    upstream.reply("gemini", body=gemini_stream(text_part("18C")))
    first = create(friend, input="go", tools=TOOLS, stream=True)
    assert [item["type"] for item in first["output"]] == [
        "reasoning",
        "message",
        "reasoning",
        "function_call",
        "function_call",
    ]
    assert "R1NJRy0x" not in str(first)
    assert len({call["call_id"] for call in calls_in(first)}) == 2
    create(
        friend,
        input=[output("gcall_1", "18C"), output("gcall_2", "17C")],
        previous_response_id=first["id"],
        tools=TOOLS,
    )
    assert turns(upstream) == [SIGNED[1:]]
    assert answers(upstream) == [[("get_weather", {"output": "18C"}), ("get_weather", {"output": "17C"})]]


def test_the_signature_of_an_answer_comes_back_with_it(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(
        "gemini", body=gemini_stream(text_part("It is "), text_part("4."), text_part("", "c2lnLXQ="))
    )
    upstream.reply("gemini", body=gemini_json(text_part("Yes.")))
    first = create(friend, input="2+2?", stream=True)
    assert output_text(first) == "It is 4."
    create(friend, input="Sure?", previous_response_id=first["id"])
    assert turns(upstream) == [[text_part("It is 4."), text_part("", "c2lnLXQ=")]]


def test_signatures_are_not_given_to_another_model_nor_to_another_kind(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply("gemini", body=gemini_stream(*SIGNED))
    first = create(friend, input="go", tools=TOOLS)
    for model in ("gem-other", "test-model"):
        body: Json = {
            "input": [output("gcall_1", "1"), output("gcall_2", "2")],
            "previous_response_id": first["id"],
        }
        assert friend.create(model=model, tools=TOOLS, **body).status == 200
        assert b"R1NJRy0x" not in last(upstream).raw
        assert b"c2lnL3RleHQ" not in last(upstream).raw
    (gem_other,) = [request for request in upstream.requests() if request.model == "gemini-3-pro"]
    (parts,) = [content["parts"] for content in gem_other.body["contents"] if content["role"] == "model"]
    assert [part.get("thoughtSignature") for part in parts] == [None, DUMMY, None]


def test_calls_of_another_kind_of_model_go_on_here(friend: Client, upstream: ScriptedUpstream) -> None:
    """The one turn by the chat backend, the next by Gemini, which refuses a call of the turn that has no signature."""
    first = friend.create(model="test-model", input="What is the weather?", tools=TOOLS).json()
    (call,) = calls_in(first)
    second = create(
        friend, input=[output(call["call_id"], "4C")], previous_response_id=first["id"], tools=TOOLS
    )
    assert output_text(second) == "The tool returned: 4C"
    assert turns(upstream)[0][0]["thoughtSignature"] == DUMMY


# ---------------------------------------------------------------- calls


def test_calls_without_ids_get_their_own_and_are_answered_in_order(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(
        "gemini",
        body=gemini_stream(
            call_part("get_weather", {"city": "Aosta"}),
            call_part("get_weather", {"city": "Biella"}),
            call_part("list_all"),
            text_part(""),
        ),
    )
    first = create(friend, input="go", tools=TOOLS, stream=True)
    assert [item["type"] for item in first["output"]] == ["function_call"] * 3
    assert first["status"] == "completed"
    ids = [call["call_id"] for call in first["output"]]
    assert len(set(ids)) == 3
    assert all(0 < len(one) <= 64 and one not in ("get_weather", "list_all", "gresp-1") for one in ids)
    assert [call["arguments"] for call in first["output"]] == ['{"city":"Aosta"}', '{"city":"Biella"}', "{}"]
    given = [output(ids[1], "B-out"), output(ids[0], "A-out"), output(ids[2], "L-out")]
    create(friend, input=given, previous_response_id=first["id"], tools=TOOLS)
    assert answers(upstream) == [
        [
            ("get_weather", {"output": "A-out"}),
            ("get_weather", {"output": "B-out"}),
            ("list_all", {"output": "L-out"}),
        ]
    ]


def test_functions_of_every_kind_are_declared(friend: Client, upstream: ScriptedUpstream) -> None:
    tools: list[Json] = [
        {"type": "function", "name": "a", "description": None, "parameters": None, "strict": None},
        {"type": "function", "name": "b", "parameters": {}},
        {"type": "function", "name": "c"},
    ]
    told = create(friend, input="x", tools=tools, tool_choice="none")
    assert [set(tool) for tool in told["tools"]] == [
        {"type", "name", "description", "parameters", "strict"}
    ] * 3
    assert last(upstream).body["tools"] == [
        {"functionDeclarations": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}
    ]


def test_what_cannot_be_said_is_refused_before_anything_is_sent(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    refusals: list[tuple[Json, str]] = [
        ({"tools": [{"type": "function", "name": "1st"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": "a", "parameters": {"$ref": "x"}}]}, "tools[0].parameters"),
        ({"reasoning": {"effort": "none"}, "model": "gem-other"}, "reasoning.effort"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_data": "AAAA"}]}]},
            "input[0].content[0]",
        ),
    ]
    for body, param in refusals:
        answer = friend.create(**{"model": MODEL, "input": "x", **body})
        assert (answer.status, answer.error["param"], answer.error["code"]) == (
            400,
            param,
            "unsupported_value",
        )
    assert upstream.requests() == []
    for client in (friend, stranger):
        assert client.get("/responses").json()["data"] == []


# ---------------------------------------------------------------- ends and errors


def test_a_blocked_prompt_is_an_answer_that_was_filtered(friend: Client, upstream: ScriptedUpstream) -> None:
    blocked = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 9},
    }
    upstream.reply("gemini", body=orjson.dumps(blocked))
    response = create(friend, input="x")
    assert (response["status"], response["incomplete_details"]) == (
        "incomplete",
        {"reason": "content_filter"},
    )
    assert response["output"] == []
    assert (response["usage"]["input_tokens"], response["usage"]["output_tokens"]) == (9, 0)


def test_a_call_that_cannot_be_read_fails_the_response(friend: Client, upstream: ScriptedUpstream) -> None:
    upstream.reply("gemini", body=gemini_stream(finish="MALFORMED_FUNCTION_CALL"))
    response = create(friend, input="x", tools=TOOLS, stream=True)
    assert (response["status"], response["output"]) == ("failed", [])
    assert response["error"]["code"] == "upstream_error"


def test_a_limit_says_how_long_to_wait(friend: Client, upstream: ScriptedUpstream) -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31s"}
    upstream.reply(
        "gemini", status=429, body=gemini_error(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", retry)
    )
    answer = friend.create(model=MODEL, input="x")
    assert (answer.status, answer.headers["retry-after"]) == (429, "31")


def test_a_refused_key_is_no_fault_of_the_client(friend: Client, upstream: ScriptedUpstream) -> None:
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    upstream.reply(
        "gemini",
        status=400,
        body=gemini_error(400, "INVALID_ARGUMENT", f"API key {UPSTREAM_KEY} not valid.", reason),
    )
    answer = friend.create(model=MODEL, input="x")
    assert (answer.status, answer.error["type"]) == (500, "model_error")
    assert UPSTREAM_KEY.encode() not in answer.body


# ---------------------------------------------------------------- counting


def test_the_backend_counts_the_whole_request(friend: Client, upstream: ScriptedUpstream) -> None:
    body: Json = {"model": MODEL, "input": "hello world", "instructions": "Be brief.", "tools": TOOLS}
    answer = friend.request("POST", "/responses/input_tokens", body)
    assert answer.status == 200
    assert answer.json()["input_tokens"] > 10
    request = last(upstream)
    assert request.path == f"/v1/models/{UPSTREAM_MODEL}:countTokens"
    counted = request.body["generateContentRequest"]
    assert counted["model"] == f"models/{UPSTREAM_MODEL}"
    assert {"contents", "systemInstruction", "tools"} <= set(counted)
