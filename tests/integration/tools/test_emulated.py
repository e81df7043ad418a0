"""The loop with a model that knows no tools: what it writes by the schema is a call, which is run."""

import json

import pytest

from responses_api.models import Backend
from responses_api.services import routing
from tests.integration.tools.reading import TOOLS, receipts
from tests.support.abacus import Abacus
from tests.support.chat import chat_stream
from tests.support.checks import checked_response, checked_stream, output_text
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

CALL = '{"tool": "add", "arguments": {"a": 2, "b": 3}}'
ANSWER = '{"answer": "It is 5."}'


@pytest.mark.parametrize("stream", [True, False])
def test_a_model_that_knows_no_tools_calls_one_and_answers(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, stream: bool
) -> None:
    Backend.objects.update(tools="emulated")
    routing.read_models()
    upstream.reply(body=chat_stream(*CALL))
    upstream.reply(body=chat_stream(*ANSWER))
    if stream:
        final = checked_stream(friend.read_stream(input="2 + 3?", tools=TOOLS), friend)
    else:
        final = checked_response(friend, friend.create(input="2 + 3?", tools=TOOLS).json())
    assert (output_text(final), receipts(final)[0]["output"]) == ("It is 5.", "5")
    first, second = (json.dumps(request.body) for request in upstream.requests())
    assert "add two numbers" in first
    assert "5" in second.partition("2 + 3?")[2]
    assert abacus.ran == [("add", '{"a": 2, "b": 3}')]
