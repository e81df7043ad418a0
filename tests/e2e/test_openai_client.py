"""The official `openai` client, pointed at the service, as an app would use it."""

import json
from typing import Any

import openai
import pytest
from openai.types.responses import FunctionToolParam, ResponseFunctionToolCall, ResponseInputParam

from tests.support.chat import chat_error
from tests.support.upstream import ScriptedUpstream

WEATHER: FunctionToolParam = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a place",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string"}},
        "required": ["location"],
        "additionalProperties": False,
    },
    "strict": True,
}


def test_text(app: openai.OpenAI, model: str) -> None:
    response = app.responses.create(model=model, input="Hello")
    assert response.status == "completed"
    assert response.output_text == "You said: Hello"
    assert response.usage is not None
    assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens


def test_stream(app: openai.OpenAI, model: str) -> None:
    events = list(app.responses.create(model=model, input="Hello", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == "You said: Hello"
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == "You said: Hello"


def test_stream_helper_folds_to_the_same_response(app: openai.OpenAI, model: str) -> None:
    with app.responses.stream(model=model, input="Hello") as stream:
        final = stream.get_final_response()
    assert final.output_text == "You said: Hello"
    assert app.responses.retrieve(final.id).output_text == final.output_text


def test_compaction(app: openai.OpenAI, model: str) -> None:
    first = app.responses.create(model=model, input="Remember the word heron.")
    compacted = app.responses.compact(model=model, previous_response_id=first.id)
    assert compacted.object == "response.compaction"
    assert [item.type for item in compacted.output] == ["message", "compaction"]
    assert compacted.usage.total_tokens > 0
    base: Any = [item.to_dict(warnings=False) for item in compacted.output]
    second = app.responses.create(model=model, input=[*base, {"role": "user", "content": "Hello"}])
    assert second.output_text == "You said: Hello"
    trigger: Any = [{"type": "compaction_trigger"}]
    third = app.responses.create(model=model, input=trigger, previous_response_id=second.id)
    assert [item.type for item in third.output] == ["compaction"]


def test_tool_loop_by_hand(app: openai.OpenAI, model: str) -> None:
    conversation: ResponseInputParam = [{"role": "user", "content": "How is the weather?"}]
    first = app.responses.create(model=model, input=conversation, tools=[WEATHER], store=False)
    call = only_call(first.output)
    assert json.loads(call.arguments) == {"location": "San Francisco"}
    conversation += [item.to_dict() for item in first.output]  # type: ignore[misc]
    conversation.append({"type": "function_call_output", "call_id": call.call_id, "output": "12 degrees"})
    second = app.responses.create(model=model, input=conversation, tools=[WEATHER], store=False)
    assert second.output_text == "The tool returned: 12 degrees"


def test_tool_loop_streamed_and_continued_by_id(app: openai.OpenAI, model: str) -> None:
    with app.responses.stream(model=model, input="How is the weather?", tools=[WEATHER]) as stream:
        events = list(stream)
        first = stream.get_final_response()
    call = only_call(first.output)
    pieces = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(pieces) == call.arguments
    second = app.responses.create(
        model=model,
        previous_response_id=first.id,
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": "12 degrees"}],
        tools=[WEATHER],
    )
    assert second.output_text == "The tool returned: 12 degrees"


def test_multi_turn_sends_the_whole_chain(app: openai.OpenAI, model: str, upstream: ScriptedUpstream) -> None:
    first = app.responses.create(model=model, input="My name is Alice.", instructions="Be brief.")
    second = app.responses.create(model=model, input="And I am 30.", previous_response_id=first.id)
    third = app.responses.create(model=model, input="Who am I?", previous_response_id=second.id)
    assert third.previous_response_id == second.id
    sent = [(message["role"], message["content"]) for message in upstream.requests()[-1].body["messages"]]
    assert sent == [
        ("user", "My name is Alice."),
        ("assistant", "You said: My name is Alice."),
        ("user", "And I am 30."),
        ("assistant", "You said: And I am 30."),
        ("user", "Who am I?"),
    ]


def test_retrieve_list_input_items_and_delete(
    app: openai.OpenAI, stranger_app: openai.OpenAI, model: str
) -> None:
    created = app.responses.create(
        model=model,
        input=[{"role": "developer", "content": "Be kind."}, {"role": "user", "content": "Hello"}],
        metadata={"topic": "greeting"},
    )
    assert app.responses.retrieve(created.id).to_dict() == created.to_dict()
    items: list[Any] = list(app.responses.input_items.list(created.id, order="asc", limit=1))
    assert [item.role for item in items] == ["developer", "user"]
    with pytest.raises(openai.NotFoundError):
        stranger_app.responses.retrieve(created.id)
    with pytest.raises(openai.NotFoundError):
        stranger_app.responses.delete(created.id)
    app.responses.delete(created.id)
    with pytest.raises(openai.NotFoundError):
        app.responses.retrieve(created.id)


def test_models(app: openai.OpenAI, model: str) -> None:
    assert model in [found.id for found in app.models.list()]
    assert app.models.retrieve(model).id == model
    with pytest.raises(openai.NotFoundError):
        app.models.retrieve("no-such-model")


def test_count_input_tokens(app: openai.OpenAI, stranger_app: openai.OpenAI, model: str) -> None:
    count = app.responses.input_tokens.count(model=model, input="hello world", instructions="Be kind")
    assert (count.object, count.input_tokens) == ("response.input_tokens", 15)
    created = app.responses.create(model=model, input="Hello")
    longer = app.responses.input_tokens.count(model=model, input="Go on", previous_response_id=created.id)
    assert longer.input_tokens > app.responses.input_tokens.count(model=model, input="Go on").input_tokens
    with pytest.raises(openai.BadRequestError) as unknown:
        stranger_app.responses.input_tokens.count(model=model, input="Go on", previous_response_id=created.id)
    assert unknown.value.code == "previous_response_not_found"


def test_errors_are_the_classes_an_app_catches(
    app: openai.OpenAI, stranger_app: openai.OpenAI, model: str, upstream: ScriptedUpstream
) -> None:
    created = app.responses.create(model=model, input="Hello")
    with pytest.raises(openai.BadRequestError) as unknown:
        stranger_app.responses.create(model=model, input="Go on", previous_response_id=created.id)
    assert unknown.value.code == "previous_response_not_found"
    with pytest.raises(openai.AuthenticationError):
        app.with_options(api_key="sk-no-such-key").responses.create(model=model, input="Hello")
    with pytest.raises(openai.NotFoundError) as no_model:
        app.responses.create(model="no-such-model", input="Hello")
    assert no_model.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as bad:
        app.responses.create(model=model, input="Hello", temperature=7)
    assert bad.value.param == "temperature"
    upstream.reply(status=429, headers={"retry-after": "7"}, body=chat_error("slow down"))
    with pytest.raises(openai.RateLimitError) as limited:
        app.responses.create(model=model, input="Hello")
    assert limited.value.response.headers["retry-after"] == "7"


def only_call(output: list[Any]) -> ResponseFunctionToolCall:
    """The one function call among the output."""
    calls = [item for item in output if item.type == "function_call"]
    assert len(calls) == 1
    call = calls[0]
    assert isinstance(call, ResponseFunctionToolCall)
    return call
