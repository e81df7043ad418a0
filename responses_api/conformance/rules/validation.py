"""The limits of the request's schema: what breaks one is refused with 400 that names the field."""

from typing import Any, NamedTuple

from responses_api.conformance.expect import no_server_error, refused
from responses_api.conformance.outcomes import require
from responses_api.conformance.prompts import HELLO, WEATHER, function
from responses_api.conformance.registry import Demand, rule
from responses_api.conformance.server import Server

_TEXT_LIMIT = 10_485_760
_BARE_NAME = {"type": "function", "description": None, "parameters": None}


class Limit(NamedTuple):
    """Fields that break a limit, and what the error's param must begin with."""

    name: str
    what: str
    fields: dict[str, Any]
    param: str
    demand: Demand = "must"


LIMITS = [
    Limit("temperature", "A temperature above 2", {"temperature": 2.1}, "temperature", "should"),
    Limit("temperature-low", "A negative temperature", {"temperature": -0.1}, "temperature", "should"),
    Limit("top-p", "A top_p above 1", {"top_p": 1.1}, "top_p", "should"),
    Limit(
        "presence-penalty",
        "A presence_penalty above 2",
        {"presence_penalty": 2.1},
        "presence_penalty",
        "should",
    ),
    Limit(
        "frequency-penalty",
        "A frequency_penalty below -2",
        {"frequency_penalty": -2.1},
        "frequency_penalty",
        "should",
    ),
    Limit(
        "max-output-tokens", "A max_output_tokens below 16", {"max_output_tokens": 15}, "max_output_tokens"
    ),
    Limit("max-tool-calls", "A max_tool_calls of 0", {"max_tool_calls": 0}, "max_tool_calls"),
    Limit("top-logprobs", "A top_logprobs above 20", {"top_logprobs": 21}, "top_logprobs"),
    Limit("truncation", "An unknown truncation", {"truncation": "sometimes"}, "truncation"),
    Limit("service-tier", "An unknown service_tier", {"service_tier": "golden"}, "service_tier"),
    Limit(
        "safety-identifier",
        "A safety_identifier of 65 characters",
        {"safety_identifier": "x" * 65},
        "safety_id",
    ),
    Limit(
        "prompt-cache-key",
        "A prompt_cache_key of 65 characters",
        {"prompt_cache_key": "x" * 65},
        "prompt_cache",
    ),
    Limit("reasoning-effort", "An unknown reasoning effort", {"reasoning": {"effort": "huge"}}, "reasoning"),
    Limit("wrong-kind", "A string where a boolean belongs", {"store": "yes"}, "store"),
    Limit(
        "metadata-count",
        "Metadata with 17 entries",
        {"metadata": dict.fromkeys(map(str, range(17)), "x")},
        "metadata",
    ),
    Limit("metadata-key", "A metadata key of 65 characters", {"metadata": {"k" * 65: "x"}}, "metadata"),
    Limit("metadata-value", "A metadata value of 513 characters", {"metadata": {"k": "x" * 513}}, "metadata"),
    Limit("metadata-kind", "A metadata value that is no string", {"metadata": {"k": 1}}, "metadata"),
    Limit(
        "tool-name", "A tool name with a space", {"tools": [_BARE_NAME | {"name": "get weather"}]}, "tools"
    ),
    Limit(
        "tool-name-length",
        "A tool name of 65 characters",
        {"tools": [_BARE_NAME | {"name": "n" * 65}]},
        "tools",
    ),
    Limit("tool-name-missing", "A function tool without a name", {"tools": [_BARE_NAME]}, "tools"),
    Limit(
        "tool-type",
        "A tool of an unknown type without a vendor's prefix",
        {"tools": [{"type": "teleport"}]},
        "tools",
    ),
    Limit(
        "role", "A message of an unknown role", {"input": [{"role": "narrator", "content": HELLO}]}, "input"
    ),
    Limit(
        "item-type", "An item of an unknown type", {"input": [{"type": "telegram", "text": HELLO}]}, "input"
    ),
    Limit(
        "part-type",
        "A content part of an unknown type",
        {"input": [{"role": "user", "content": [{"type": "input_smell", "text": "x"}]}]},
        "input",
    ),
    Limit("content-missing", "A message without content", {"input": [{"role": "user"}]}, "input"),
    Limit(
        "call-id",
        "A call_id of 65 characters",
        {"input": [{"type": "function_call_output", "call_id": "c" * 65, "output": "x"}]},
        "input",
    ),
    Limit("include", "An unknown value of include", {"include": ["everything"]}, "include"),
    Limit(
        "choice-mode", "An unknown tool_choice", {"tools": [WEATHER], "tool_choice": "perhaps"}, "tool_choice"
    ),
    Limit(
        "choice-unknown",
        "A tool_choice of a function that the request does not have",
        {"tools": [WEATHER], "tool_choice": {"type": "function", "name": "get_time"}},
        "tool_choice",
        "should",
    ),
    Limit(
        "choice-required",
        "A tool_choice of required without tools",
        {"tool_choice": "required"},
        "tool_choice",
        "should",
    ),
    Limit(
        "allowed-unknown",
        "An allowed_tools with a function that the request does not have",
        {
            "tools": [WEATHER],
            "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "get_time"}]},
        },
        "tool_choice",
        "should",
    ),
]


def _register(limit: Limit) -> None:
    sentence = f"{limit.what} is refused with 400 that names the field."

    @rule(f"validation.{limit.name}", sentence, section="CreateResponseBody", demand=limit.demand)
    async def check(server: Server) -> None:
        refused(await server.ask(**{"input": HELLO, **limit.fields}), param=limit.param)


for _limit in LIMITS:
    _register(_limit)


@rule(
    "validation.no-input",
    "A request without input and without a previous response is refused with 400.",
    section="CreateResponseBody",
    demand="should",
)
async def no_input(server: Server) -> None:
    refused(await server.ask(), param="input")


@rule(
    "validation.text-length",
    "An input of 10,485,761 characters is refused with 400 or 413.",
    section="CreateResponseBody",
)
async def text_length(server: Server) -> None:
    refused(await server.ask(input="x" * (_TEXT_LIMIT + 1)), 400, 413)


@rule("validation.limits-kept", "Values at their limits are accepted.", section="CreateResponseBody")
async def limits_kept(server: Server) -> None:
    name = "n" * 64
    response = await server.create(
        input=HELLO,
        metadata={f"{index:064}": "v" * 512 for index in range(16)},
        max_output_tokens=16,
        tools=[function(name, "Does nothing.", "what")],
        tool_choice="none",
        safety_identifier="s" * 64,
        prompt_cache_key="p" * 64,
    )
    require(len(response.get("metadata") or {}) == 16, "sixteen entries of metadata did not come back")


@rule("validation.nul", "A text with U+0000 never causes an error of the server.", section="Error Types")
async def nul(server: Server) -> None:
    no_server_error(await server.ask(input="a\x00b"))
    no_server_error(await server.ask(input=HELLO, metadata={"k": "a\x00b"}))


@rule("validation.surrogate", "A lone surrogate never causes an error of the server.", section="Error Types")
async def surrogate(server: Server) -> None:
    body = b'{"model": "%s", "input": "a\\ud800b"}' % server.target.model.encode()
    no_server_error(await server.send("POST", "/responses", body))


@rule(
    "validation.nesting",
    "A body nested without end never causes an error of the server.",
    section="Error Types",
)
async def nesting(server: Server) -> None:
    deep = b"[" * 20000 + b"]" * 20000
    body = b'{"model": "%s", "input": "x", "metadata": %s}' % (server.target.model.encode(), deep)
    refused(await server.send("POST", "/responses", body), 400, 413)


@rule(
    "validation.nothing-kept",
    "A refused request leaves no response in the list.",
    section="Errors",
    demand="extension",
)
async def nothing_kept(server: Server) -> None:
    mark = {"conformance": "refused"}
    refused(await server.ask(input=HELLO, metadata=mark, max_output_tokens=1))
    listed = await server.get("/responses?limit=100")
    if listed.status == 200:
        kept = [entry for entry in listed.json().get("data") or () if entry.get("metadata") == mark]
        require(not kept, "a request that was refused is in the list of responses")
