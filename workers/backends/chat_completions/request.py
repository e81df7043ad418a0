"""A job as the body of a Chat Completions request.

What this format can say is translated; what would change the answer and cannot be said is refused with a 400
that names the field. The rest, on purpose:

| setting | here |
| --- | --- |
| `reasoning` items | what the same backend told is given back in its own fields; nothing else, and never as content |
| items of other types, a vendor's among them | left out: kept with the conversation, and no part of this format |
| `annotations` of replayed text | left out: they point out sources to a reader, and the text is whole without them |
| `phase` of a message | left out: a label for the client, not part of the conversation |
| `reasoning.summary` | left out: a wish for something that this format never returns |
| images, files and videos that a function put out | told in a user's message behind the outputs: `tool` is text alone |
| videos | sent as `video_url`, which several servers know; refused for OpenAI's own, which does not |
| `prompt_cache_key` | sent to OpenAI's own; else left out: a hint, and many servers refuse fields they do not know |
| `metadata` | left out: a note for the client |
| `service_tier`, `truncation`, `background`, `store` | the service's own: queue, turns, who waits, what stays |
| `max_tool_calls` | the service's own: `protocol.admission` counts the calls of every answer |
| `safety_identifier` | sent as `user`, the name that this format has for it |
| `stream` | always on: an answer that is read as it comes can be cancelled at once |
"""

from responses_api.protocol.content import without_nulls
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from workers.backends.chat_completions.dialect import ANYBODY, Dialect
from workers.backends.chat_completions.messages import build_messages
from workers.backends.logprobs import asks_for_logprobs
from workers.backends.refusals import other_choice, other_tool

_PLAIN_FIELDS = ("temperature", "top_p", "presence_penalty", "frequency_penalty")


def build(job: Job, dialect: Dialect = ANYBODY) -> Json:
    """The request body, always for a stream.

    Raises `ProtocolError` 400 with `param` for what this format cannot carry.
    """
    request = job.request
    body: Json = {
        "model": job.upstream_model,
        "messages": build_messages(request["instructions"], job.context, len(job.history), dialect),
        "stream": True,
        # Without it most servers tell no usage at all in a stream.
        "stream_options": {"include_usage": True},
    }
    body.update({name: request[name] for name in _PLAIN_FIELDS if request[name] is not None})
    if request["max_output_tokens"] is not None:
        body[dialect.token_limit_field] = request["max_output_tokens"]
    if request["safety_identifier"]:
        body["user"] = request["safety_identifier"]
    if request["prompt_cache_key"] and dialect.takes_cache_key:
        body["prompt_cache_key"] = request["prompt_cache_key"]
    return body | _tools(request) | _text(request["text"]) | _reasoning(request) | _logprobs(request)


def _tools(request: Json) -> Json:
    tools = request["tools"]
    if not tools:
        return {}
    body: Json = {
        "tools": [_tool(tool, index) for index, tool in enumerate(tools)],
        "tool_choice": _tool_choice(request["tool_choice"]),
    }
    if not request["parallel_tool_calls"]:
        # On is the default of the format, and unknown to some of its servers.
        body["parallel_tool_calls"] = False
    return body


def _tool(tool: Json, index: int) -> Json:
    if tool["type"] != "function":
        raise other_tool(tool, f"tools[{index}]")
    function = {name: tool.get(name) for name in ("name", "description", "parameters", "strict")}
    return {"type": "function", "function": without_nulls(function)}


def _tool_choice(choice: str | Json) -> str | Json:
    if isinstance(choice, str):
        return choice
    if choice["type"] == "allowed_tools":
        # The upstream sees every tool, so that its prompt cache stays warm; what it calls is checked on its way out,
        # by `protocol.admission`.
        return str(choice.get("mode") or "auto")
    if choice["type"] == "function":
        return {"type": "function", "function": {"name": choice["name"]}}
    raise other_choice(choice)


def _text(text: Json) -> Json:
    body = without_nulls({"verbosity": text.get("verbosity")})
    form = text["format"]
    if form["type"] == "json_object":
        body["response_format"] = {"type": "json_object"}
    elif form["type"] == "json_schema":
        schema = {name: form.get(name) for name in ("name", "description", "schema", "strict")}
        body["response_format"] = {"type": "json_schema", "json_schema": without_nulls(schema)}
    return body


def _reasoning(request: Json) -> Json:
    return without_nulls({"reasoning_effort": (request["reasoning"] or {}).get("effort")})


def _logprobs(request: Json) -> Json:
    count = request["top_logprobs"]
    if asks_for_logprobs(request) is None:
        return {}
    return {"logprobs": True, "top_logprobs": count} if count else {"logprobs": True}
