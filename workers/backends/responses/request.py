"""A job as the body of a Responses request.

It is the format that the service itself speaks, and yet not simply passed on: servers know different parts of it, and
what is kept, queued and cut short is the service's own. The rest, on purpose:

| setting | here |
| --- | --- |
| `store` | false, but where the backend's row has `previous_response_id` and the request is stored: see `chaining` |
| `previous_response_id` | the service's own chains are sent as items; see `chaining` for the backend's |
| `include` | as the request asks of the text; encrypted reasoning always, where the row has it: chains need it |
| `reasoning` items | what the same backend told goes back as it was; all else of them is left out |
| items of other types | sent, under the backend's own id, where its row names their tools; else left out |
| tools of other types | as they are, where the row names them; else refused |
| `tool_choice: allowed_tools` | as it is where the row has it; else its mode alone: calls are checked all the same |
| `text.format` | sent; where the row has `response_format`, also by the name and in the form of Chat Completions |
| log probabilities | asked for by `include`; refused where the row has `response_format`: llama.cpp tells none, here |
| `max_tool_calls` | sent only beside tools that the backend runs; the service counts by itself |
| `truncation`, `service_tier`, `background` | not sent: the service's own |
| `metadata` | left out: a note of the client's to itself |
| `safety_identifier`, `prompt_cache_key`, `phase` | sent: the names are the same |
| ids of items | left out but for the assistant's messages, whose form demands one; they are the service's own |
| `stream` | always on: an answer that is read as it comes can be cancelled at once |
"""

from typing import Final

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.content import without_nulls
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from workers.backends.logprobs import LOGPROBS, asks_for_logprobs
from workers.backends.refusals import no_logprobs, unsupported
from workers.backends.responses.chaining import stores
from workers.backends.responses.items import build_input

ENCRYPTED: Final = "reasoning.encrypted_content"

_PLAIN_FIELDS: Final = (
    "instructions",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "max_output_tokens",
    "safety_identifier",
    "prompt_cache_key",
)


def build(job: Job) -> Json:
    """The request body with the whole conversation, always for a stream.

    Raises `ProtocolError` 400 with `param` for what this backend cannot be told.
    """
    request, spec = job.request, BackendSpec.from_plain(job.backend)
    body: Json = {
        "model": job.upstream_model,
        "input": build_input(job.context, spec),
        "stream": True,
        "store": stores(job),
    }
    body.update({name: request[name] for name in _PLAIN_FIELDS if request[name] is not None})
    return (
        body
        | _tools(request, spec)
        | _text(request["text"], spec)
        | _reasoning(request)
        | _include(request, spec)
    )


def _tools(request: Json, spec: BackendSpec) -> Json:
    tools = request["tools"]
    if not tools:
        return {}
    body: Json = {
        "tools": [_tool(tool, index, spec) for index, tool in enumerate(tools)],
        "tool_choice": _tool_choice(request["tool_choice"], spec),
    }
    if not request["parallel_tool_calls"]:
        body["parallel_tool_calls"] = False
    if request["max_tool_calls"] is not None and any(tool["type"] != "function" for tool in tools):
        body["max_tool_calls"] = request["max_tool_calls"]
    return body


def _tool(tool: Json, index: int, spec: BackendSpec) -> Json:
    if tool["type"] == "function":
        return without_nulls(tool)
    if spec.takes_tool(tool["type"]):
        return tool
    raise unsupported(
        f"Tools of type '{quoted(tool['type'])}' are not supported by this model's backend.",
        f"tools[{index}].type",
    )


def _tool_choice(choice: str | Json, spec: BackendSpec) -> str | Json:
    if isinstance(choice, str) or choice["type"] != "allowed_tools" or spec.has("allowed_tools"):
        return choice
    # What the model calls besides is checked on its way out, by `protocol.admission`.
    return str(choice.get("mode") or "auto")


def _text(text: Json, spec: BackendSpec) -> Json:
    told, form = without_nulls({"verbosity": text.get("verbosity")}), without_nulls(text["format"])
    if form["type"] == "text":
        return {"text": told} if told else {}
    body: Json = {"text": {**told, "format": form}}
    if spec.has("response_format"):
        body["response_format"] = _response_format(form)
    return body


def _response_format(form: Json) -> Json:
    """The form of the answer as Chat Completions has it: llama.cpp reads no other, here either."""
    kind, schema = form["type"], {name: form[name] for name in form if name != "type"}
    return {"type": kind, kind: schema} if schema else {"type": kind}


def _reasoning(request: Json) -> Json:
    told = without_nulls(request["reasoning"] or {})
    return {"reasoning": told} if told else {}


def _include(request: Json, spec: BackendSpec) -> Json:
    asked, count = asks_for_logprobs(request), request["top_logprobs"]
    if asked is not None and spec.has("response_format"):
        raise no_logprobs(asked)
    wanted = [LOGPROBS] if asked is not None else []
    if spec.has("encrypted_content"):
        wanted.append(ENCRYPTED)
    body: Json = {"include": wanted} if wanted else {}
    return body | {"top_logprobs": count} if count else body
