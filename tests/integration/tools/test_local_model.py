"""The loop with the bundled model, which knows no tools: it calls one, which is run, and goes on."""

import json

import pytest

from responses_api.models import Backend
from responses_api.services import routing
from tests.integration.tools.reading import TOOLS, receipts
from tests.integration.workers.test_local_model import url
from tests.support.abacus import Abacus
from tests.support.checks import checked_stream
from tests.support.client import Client

pytestmark = pytest.mark.model
__all__ = ["url"]


def test_the_bundled_model_calls_a_tool_that_the_service_runs(
    friend: Client,
    abacus: Abacus,
    url: str,
) -> None:
    abacus.names = ["add"]
    Backend.objects.update(base_url=url, tools="emulated", first_byte_timeout=120, idle_timeout=120)
    routing.read_models()
    exchange = friend.read_stream(
        input="What is 2 and 3 together?",
        tools=TOOLS,
        tool_choice="required",
        max_output_tokens=400,
        max_tool_calls=1,
        timeout=240,
    )
    final = checked_stream(exchange, friend)
    (receipt,) = [item for item in receipts(final) if item["status"] == "completed"]
    given = json.loads(receipt["arguments"])
    assert float(receipt["output"]) == given["a"] + given["b"]
    assert final["output"][-1]["type"] == "message"
    assert len(abacus.ran) == 1
