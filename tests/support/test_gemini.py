"""The scripted upstream speaks generateContent: the provider's own SDK says so, and reads of every scenario what our
adapter reads.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from tests.golden.play import parts_of, scenarios, upstream_bytes
from tests.support.gemini import call_part, gemini_error, gemini_json, gemini_stream, text_part, thought_part
from tests.support.gemini_rules import fault_in
from tests.support.upstream import ScriptedUpstream
from workers.backends.parts import CallDelta, Part, Stop, SummaryDelta, TextDelta, UsageReport

MODEL = "gemini-3-flash"
READ_BY_US_ALONE = {
    "gemini/byte_order_mark",
    "gemini/byte_order_mark_before_json",
    "gemini/keep_alives",
    "gemini/no_space_after_the_colon",
    "gemini/other_candidates_are_ignored",
    "gemini/usage_that_makes_no_sense",
}
"""What no Gemini says, or its SDK does not look at."""

WEATHER = types.FunctionDeclaration(
    name="get_weather",
    description="Tells the weather.",
    parameters_json_schema={
        "type": "object",
        "properties": {"location": {"type": "string"}},
        "required": ["location"],
    },
)
TOOLS = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[WEATHER])])


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream(actor=True) as started:
        yield started


@pytest.fixture
def client(upstream: ScriptedUpstream) -> genai.Client:
    """The SDK as it comes, pointed at the scripted upstream."""
    base, version = upstream.base_url.rsplit("/", 1)
    return genai.Client(
        api_key="AIza-not-a-key", http_options=types.HttpOptions(base_url=base, api_version=version)
    )


def calls_of(response: types.GenerateContentResponse) -> list[tuple[str | None, dict[str, Any] | None]]:
    return [(call.name, call.args) for call in response.function_calls or ()]


# ---------------------------------------------------------------- the SDK asks the actor


def test_the_sdk_gets_a_whole_answer(client: genai.Client, upstream: ScriptedUpstream) -> None:
    response = client.models.generate_content(
        model=MODEL, contents="Hello there", config={"system_instruction": "Be brief."}
    )
    assert response.text == "You said: Hello there"
    assert [candidate.finish_reason for candidate in response.candidates or ()] == [types.FinishReason.STOP]
    assert response.usage_metadata is not None
    request = upstream.wait_request(MODEL)
    assert request.path == f"/v1/models/{MODEL}:generateContent"
    assert request.headers["x-goog-api-key"] == "AIza-not-a-key"
    assert request.body["systemInstruction"]["parts"] == [{"text": "Be brief."}]


def test_the_sdk_gets_a_stream(client: genai.Client, upstream: ScriptedUpstream) -> None:
    chunks = list(client.models.generate_content_stream(model=MODEL, contents="Count from 1 to 5"))
    assert "".join(chunk.text or "" for chunk in chunks) == "1 2 3 4 5"
    assert len(chunks) > 3
    assert upstream.wait_request(MODEL).path == f"/v1/models/{MODEL}:streamGenerateContent?alt=sse"


def test_the_sdk_gets_thoughts_apart_from_the_answer(client: genai.Client) -> None:
    thinking = types.ThinkingConfig(include_thoughts=True, thinking_level=types.ThinkingLevel.LOW)
    config = types.GenerateContentConfig(thinking_config=thinking)
    response = client.models.generate_content(model=MODEL, contents="Hello", config=config)
    assert [(part.text, bool(part.thought)) for part in response.parts or ()] == [
        ("Let me think.", True),
        ("You said: Hello", False),
    ]


@pytest.mark.parametrize("streams", [False, True])
def test_the_sdks_chat_gives_the_signature_back_and_is_answered(
    streams: bool, client: genai.Client, upstream: ScriptedUpstream
) -> None:
    """The SDK keeps the history; the upstream refuses a call that comes without its signature."""
    chat = client.chats.create(model=MODEL, config=TOOLS)

    def send(message: Any) -> list[types.GenerateContentResponse]:
        return list(chat.send_message_stream(message)) if streams else [chat.send_message(message)]

    calls = [call for response in send("What is the weather?") for call in response.function_calls or ()]
    (call,) = calls
    assert (call.name, call.args) == ("get_weather", {"location": "San Francisco"})
    answer = types.FunctionResponse(id=call.id, name=call.name, response={"output": "12 degrees"})
    told = send(types.Part(function_response=answer))
    assert "".join(response.text or "" for response in told) == "The tool returned: 12 degrees"
    (model,) = [
        content for content in upstream.requests(MODEL)[-1].body["contents"] if content["role"] == "model"
    ]
    assert [part["thoughtSignature"] for part in model["parts"] if "functionCall" in part]


def test_without_its_signature_the_sdks_call_is_refused_but_for_the_dummy(client: genai.Client) -> None:
    def go_on(signature: bytes | None) -> types.GenerateContentResponse:
        call = types.FunctionCall(id="a", name="get_weather", args={"location": "Oslo"})
        answer = types.FunctionResponse(id="a", name="get_weather", response={"output": "4C"})
        contents: list[Any] = [
            types.UserContent("?"),
            types.ModelContent([types.Part(function_call=call, thought_signature=signature)]),
            types.UserContent([types.Part(function_response=answer)]),
        ]
        return client.models.generate_content(model=MODEL, contents=contents, config=TOOLS)

    for signature, fault in ((None, "missing a thought_signature"), (b"made up", "Corrupted")):
        with pytest.raises(errors.ClientError, match=fault) as caught:
            go_on(signature)
        assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")


def test_the_sdk_gets_structured_output(client: genai.Client) -> None:
    config = types.GenerateContentConfig(
        response_mime_type="application/json",
        response_json_schema={
            "type": "object",
            "properties": {"ok": {"type": "boolean"}},
            "required": ["ok"],
        },
    )
    response = client.models.generate_content(model=MODEL, contents="x", config=config)
    assert json.loads(response.text or "") == {"ok": True}


def test_the_sdk_forces_a_function(client: genai.Client) -> None:
    calling = types.FunctionCallingConfig(
        mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["get_weather"]
    )
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[types.FunctionDeclaration(name="other"), WEATHER])],
        tool_config=types.ToolConfig(function_calling_config=calling),
    )
    response = client.models.generate_content(model=MODEL, contents="x", config=config)
    assert calls_of(response) == [("get_weather", {"location": "San Francisco"})]


def test_the_sdk_has_tokens_counted(client: genai.Client) -> None:
    assert client.models.count_tokens(model=MODEL, contents="one two three").total_tokens


# ---------------------------------------------------------------- the SDK reads scripts


def test_the_sdk_reads_what_the_builders_write(client: genai.Client, upstream: ScriptedUpstream) -> None:
    parts = [
        thought_part("Hm."),
        text_part("I look: "),
        call_part("look", {"at": "A"}, id="g1", signature="c2lnLTE="),
        call_part("hear"),
    ]
    upstream.reply("gemini_whole", body=gemini_json(*parts, usage=(7, 5, 4)))
    upstream.reply("gemini", body=gemini_stream(*parts, usage=(7, 5, 4)))
    whole = [client.models.generate_content(model=MODEL, contents="x")]
    stream = list(client.models.generate_content_stream(model=MODEL, contents="x"))
    for responses in (whole, stream):
        told = [part for response in responses for part in response.parts or ()]
        assert [part.text for part in told] == ["Hm.", "I look: ", None, None]
        assert [part.thought_signature for part in told] == [None, None, b"sig-1", None]
        assert [call for response in responses for call in calls_of(response)] == [
            ("look", {"at": "A"}),
            ("hear", None),
        ]
        usage = responses[-1].usage_metadata
        assert usage
        assert (
            usage.prompt_token_count,
            usage.candidates_token_count,
            usage.thoughts_token_count,
        ) == (7, 5, 4)


def test_the_sdk_reads_an_error(client: genai.Client, upstream: ScriptedUpstream) -> None:
    upstream.reply(
        "gemini_whole", status=503, body=gemini_error(503, "UNAVAILABLE", "The model is overloaded.")
    )
    with pytest.raises(errors.ServerError, match="overloaded"):
        client.models.generate_content(model=MODEL, contents="x")


STREAMS = [
    name
    for name in scenarios()
    if name.startswith("gemini/") and b"data: " in upstream_bytes(name) and name not in READ_BY_US_ALONE
]
BODIES = [
    name for name in scenarios() if name.startswith("gemini/") and upstream_bytes(name).startswith(b"{")
]


@pytest.mark.parametrize("scenario", STREAMS)
def test_the_sdk_reads_of_a_stream_what_our_adapter_reads(
    scenario: str, client: genai.Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply("gemini", body=upstream_bytes(scenario))
    responses: list[types.GenerateContentResponse] = []
    try:
        responses += client.models.generate_content_stream(model=MODEL, contents="x")
    except (errors.APIError, ValueError, TypeError):
        assert_that_ours_failed(scenario)
        return
    assert_same(scenario, responses)


@pytest.mark.parametrize("scenario", BODIES)
def test_the_sdk_reads_of_a_body_what_our_adapter_reads(
    scenario: str, client: genai.Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply("gemini_whole", body=upstream_bytes(scenario))
    try:
        response = client.models.generate_content(model=MODEL, contents="x")
    except (errors.APIError, ValueError, TypeError):
        assert_that_ours_failed(scenario)
        return
    assert_same(scenario, [response])


def assert_that_ours_failed(scenario: str) -> None:
    _, error = parts_of(scenario, [upstream_bytes(scenario)])
    assert error is not None or scenario in READ_BY_US_ALONE, "ours reads what the SDK refuses"


def assert_same(scenario: str, responses: list[types.GenerateContentResponse]) -> None:
    parts, error = parts_of(scenario, [upstream_bytes(scenario)])
    theirs = [part for response in responses for part in response.parts or ()]
    # Until it failed, ours read the same; what cannot be carried is where it stops.
    told = [part.text or "" for part in theirs if part.text and not part.thought]
    ours = joined(parts, TextDelta)
    assert ours == "".join(told)[: len(ours)] if error else ours == "".join(told)
    thoughts = "".join(part.text or "" for part in theirs if part.thought)
    assert joined(parts, SummaryDelta) == thoughts
    if error is None:
        calls = [(part.name, json.loads(part.arguments)) for part in parts if isinstance(part, CallDelta)]
        assert calls == [(name, args or {}) for response in responses for name, args in calls_of(response)]
        assert_same_end(parts, responses)


def assert_same_end(parts: list[Part], responses: list[types.GenerateContentResponse]) -> None:
    usages = [response.usage_metadata for response in responses if response.usage_metadata]
    reports = [part for part in parts if isinstance(part, UsageReport)]
    assert len(usages) == len(reports)
    if usages and usages[-1].prompt_token_count:
        read = (reports[-1].input_tokens + reports[-1].output_tokens, reports[-1].cached_tokens)
        assert read[0] == usages[-1].total_token_count
    (stop,) = [part for part in parts if isinstance(part, Stop)]
    reasons = [
        candidate.finish_reason.name
        for response in responses
        for candidate in response.candidates or ()
        if candidate.finish_reason and not candidate.index
    ]
    assert (stop.reason in ("stop", "tool_calls")) == (not reasons or reasons[-1] == "STOP") or blocked(
        responses
    )


def blocked(responses: list[types.GenerateContentResponse]) -> bool:
    return any(response.prompt_feedback and response.prompt_feedback.block_reason for response in responses)


def joined(parts: list[Part], kind: Any) -> str:
    return "".join(part.text for part in parts if isinstance(part, kind))


# ---------------------------------------------------------------- the rules find what they are for


def turn(role: str, *parts: Json) -> Json:
    return {"role": role, "parts": list(parts)}


CALL = {
    "functionCall": {"id": "a", "name": "f", "args": {}},
    "thoughtSignature": "skip_thought_signature_validator",
}
ANSWER = {"functionResponse": {"id": "a", "name": "f", "response": {"output": "1"}}}
USER = turn("user", {"text": "x"})


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"contents": []}, "not specified"),
        ({"contents": [turn("model", {"text": "x"})]}, "begins with a user"),
        ({"contents": [turn("system", {"text": "x"}), USER]}, "begins with a user"),
        ({"contents": [turn("user")]}, "must not be empty"),
        ({"contents": [turn("user", {"text": ""})]}, "empty text"),
        ({"contents": [turn("user", {"text": "a", "inlineData": {}})]}, "one initialized field"),
        ({"contents": [USER, turn("model", CALL)]}, "equal to the number"),
        ({"contents": [USER, turn("model", CALL), turn("user", ANSWER, ANSWER)]}, "equal to the number"),
        ({"contents": [turn("user", ANSWER)]}, "immediately after a function call"),
        ({"contents": [USER, turn("user", ANSWER)]}, "immediately after a function call"),
        (
            {"contents": [USER, turn("model", {"text": "x"}), turn("model", CALL), turn("user", ANSWER)]},
            "immediately after a user",
        ),
        (
            {"contents": [USER, turn("model", {"functionCall": CALL["functionCall"]}), turn("user", ANSWER)]},
            "missing a thought_signature",
        ),
        ({"contents": [turn("user", {"text": "x", "thoughtSignature": "AAAA"})]}, "Corrupted"),
        ({"contents": [USER], "colour": 1}, "Unknown name"),
        ({"contents": [USER], "generationConfig": {"top_k_": 1}}, "Unknown name"),
        ({"contents": [USER], "generationConfig": {"logprobs": 1}}, "response_logprobs"),
        ({"contents": [USER], "generationConfig": {"responseJsonSchema": {}}}, "mime type"),
        (
            {
                "contents": [USER],
                "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW", "thinkingBudget": 1}},
            },
            "only set one",
        ),
        (
            {"contents": [USER], "tools": [{"functionDeclarations": [{"name": "1a"}]}]},
            "letter or an underscore",
        ),
        (
            {
                "contents": [USER],
                "tools": [{"functionDeclarations": [{"name": "a", "parametersJsonSchema": {}}]}],
            },
            "type object",
        ),
        (
            {
                "contents": [USER],
                "toolConfig": {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["a"]}},
            },
            "only for the modes",
        ),
    ],
)
def test_a_request_that_breaks_a_rule_is_found(body: Json, fault: str) -> None:
    assert fault in (fault_in(body) or "")


def test_a_request_that_keeps_the_rules_is_let_through() -> None:
    contents = [
        USER,
        turn("model", {"text": "y"}, CALL),
        turn("user", ANSWER),
        turn("model", {"text": "z"}),
        USER,
    ]
    assert fault_in({"contents": contents}) is None


def test_ours_fails_where_it_says_so() -> None:
    _, error = parts_of("gemini/image_in_the_answer", [upstream_bytes("gemini/image_in_the_answer")])
    assert isinstance(error, ProtocolError)
