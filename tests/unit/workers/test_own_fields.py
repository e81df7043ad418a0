"""What no backend option sets, a client's or the row's: each format's own names for the same things."""

from itertools import chain

import pytest

from responses_api.protocol import own_fields
from responses_api.protocol.backend_options import FIELD, fault_of_defaults, place_of
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import make_job
from workers.backends.client import UpstreamClient
from workers.backends.registry import KINDS

KEPT = {
    "chat_completions": own_fields.CHAT_COMPLETIONS,
    "openai_chat_completions": own_fields.CHAT_COMPLETIONS,
    "responses": own_fields.RESPONSES,
    "anthropic": own_fields.ANTHROPIC,
    "gemini": own_fields.GEMINI,
}
_CHAT = {
    "the model": ("model", "models", "fallbacks"),
    "where it is asked": ("api_base", "base_url", "api_key"),
    "the conversation": ("messages", "prompt"),
    "the form of the transport": ("stream", "stream_options"),
    "the limit of tokens": ("max_tokens", "max_completion_tokens", "max_new_tokens", "n_predict"),
    "the number of answers": ("n", "best_of"),
    "the tools": ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"),
    "tools that the server runs": ("web_search_options", "plugins"),
    "the form of the answer": ("response_format",),
    "what is kept": ("store", "metadata"),
    "the queue and its price": ("service_tier",),
    "who asks": ("user", "safety_identifier"),
}
OWN: dict[str, dict[str, tuple[str, ...]]] = {
    "chat_completions": _CHAT,
    "openai_chat_completions": _CHAT,
    "responses": {
        "the model": ("model",),
        "the conversation": ("input", "instructions", "previous_response_id", "conversation", "prompt"),
        "the form of the transport": ("stream", "stream_options", "background"),
        "the limit of tokens": ("max_output_tokens", "max_tool_calls"),
        "the tools": ("tools", "tool_choice", "parallel_tool_calls"),
        "the form of the answer": ("text",),
        "what is kept": ("store", "metadata", "include"),
        "the queue and its price": ("service_tier",),
        "who asks": ("user", "safety_identifier"),
    },
    "anthropic": {
        "the model": ("model",),
        "the conversation": ("messages", "system"),
        "the form of the transport": ("stream",),
        "the limit of tokens": ("max_tokens",),
        "the tools": ("tools", "tool_choice"),
        "tools that the server runs": ("mcp_servers", "container"),
        "the queue and its price": ("service_tier", "inference_geo", "speed"),
        "who asks": ("metadata",),
    },
    "gemini": {
        "the model": ("model", "cachedContent"),
        "the conversation": ("contents", "systemInstruction"),
        "the limit of tokens and the number of answers": ("generationConfig",),
        "the tools": ("tools", "toolConfig"),
        "what is kept, and who asks": ("store", "labels"),
        "the queue and its price": ("serviceTier",),
    },
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_format_keeps_what_policies_and_quotas_were_asked_about(kind: str) -> None:
    missing = set(chain.from_iterable(OWN[kind].values())) - KEPT[kind]
    assert not missing, f"a client could set {sorted(missing)}"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_every_request_is_made_of_is_the_services_own(kind: str) -> None:
    body: Json = KINDS[kind].build(make_job(instructions="Be brief.", max_output_tokens=64))
    assert set(body) <= KEPT[kind]
    assert body


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_no_format_takes_another_ones_name_for_them(kind: str) -> None:
    for name in sorted({name for fields in OWN.values() for names in fields.values() for name in names}):
        asked: Json = {FIELD: {name: 1}}
        job = make_job(row={"kind": kind}, **asked)
        with pytest.raises(ProtocolError) as caught:
            async with UpstreamClient() as client:
                await anext(client.stream(job))
        assert (caught.value.status, caught.value.param) == (400, place_of(name))
        assert fault_of_defaults({"top_k": 1, name: 1}).startswith(f"'{name}' cannot be a default option")
