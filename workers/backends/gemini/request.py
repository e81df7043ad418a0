"""A job as the body of a generateContent request.

What this format can say is translated; what would change the answer and cannot be said is refused with a 400 that names
the field. The rest, on purpose:

| setting | here |
| --- | --- |
| messages of the system and the developer | all in `systemInstruction`: a conversation has no such role |
| `reasoning` items | signatures that the same model gave, on the parts they came on; its thoughts only where signed |
| calls of other models | with the signature that the reference has for them, or the request would be refused |
| refusals of the model | sent as what it said |
| images, files and videos | their bytes with their type, or the `http(s)` address for the API to fetch; else refused |
| `detail` of an image, `filename` | left out: neither can be said of a single part |
| media in a function's output | in it where the model takes them there, else right behind all outputs |
| items of other types, a vendor's among them | left out: kept with the conversation, and no part of this format |
| `annotations` of replayed text, `phase` | left out: for a reader and a client, not part of the conversation |
| a conversation that no user began | begun with a blank: the API takes no other |
| `strict` of a function | left out: every schema is held to as far as the model does |
| JSON Schemas | in the words that are taken, see `schema.py` |
| `tool_choice` of allowed tools | the mode that knows names: `VALIDATED`, or `ANY` where a call is demanded |
| `parallel_tool_calls`, `max_tool_calls` | cannot be said; `protocol.admission` holds every answer to them |
| name of `text.format`, its `strict` | left out: the format has no words for them |
| `service_tier`, `truncation`, `background`, `store` | the service's own: queue, turns, who waits, what stays |
| `reasoning` | see `thinking.py` |
| `text.verbosity` | left out: a wish that this format has no word for |
| `metadata`, `safety_identifier`, `prompt_cache_key` | left out: notes and hints that this format has no place for |
| `stream` | always on: an answer that is read as it comes can be cancelled at once |
"""

import re
from typing import Any

from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from workers.backends.counting import gemini_model
from workers.backends.gemini.contents import build_contents
from workers.backends.gemini.schema import answer_schema, parameters_schema
from workers.backends.gemini.thinking import is_early, thinking_config
from workers.backends.logprobs import asks_for_logprobs
from workers.backends.refusals import other_choice, other_tool, unsupported

_SAMPLING = {
    "temperature": "temperature",
    "top_p": "topP",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "max_output_tokens": "maxOutputTokens",
}
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_FUNCTION_NAME = re.compile(r"[A-Za-z_]")


def path(job: Job) -> str:
    """Where the job is asked: below the base URL, which goes up to the version of the API."""
    return f"/{gemini_model(job.upstream_model)}:streamGenerateContent?alt=sse"


def auth(key: str) -> dict[str, str]:
    """The credential as this API wants it."""
    return {"x-goog-api-key": key}


def build(job: Job) -> Json:
    """The request body, the same for a stream and a whole answer.

    Raises `ProtocolError` 400 with `param` for what this format cannot carry.
    """
    request = job.request
    told = build_contents(
        request["instructions"], job.context, len(job.history), is_early=is_early(job.upstream_model)
    )
    body: Json = {"contents": told.contents}
    if told.instructions:
        body["systemInstruction"] = {"parts": told.instructions}
    config = _config(job.upstream_model, request)
    if config:
        body["generationConfig"] = config
    return body | _tools(request)


def _config(model: str, request: Json) -> Json:
    config = {name: request[field] for field, name in _SAMPLING.items() if request[field] is not None}
    thinking = thinking_config(model, request["reasoning"])
    if thinking:
        config["thinkingConfig"] = thinking
    return config | _text(request["text"]["format"]) | _logprobs(request)


def _text(form: Json) -> Json:
    if form["type"] == "text":
        return {}
    config: Json = {"responseMimeType": "application/json"}
    if form["type"] == "json_schema":
        schema = answer_schema(form["schema"], "text.format.schema")
        if form.get("description"):
            schema = {"description": form["description"], **schema}
        config["responseJsonSchema"] = schema
    return config


def _logprobs(request: Json) -> Json:
    count = request["top_logprobs"]
    if asks_for_logprobs(request) is None:
        return {}
    return {"responseLogprobs": True, "logprobs": count} if count else {"responseLogprobs": True}


def _tools(request: Json) -> Json:
    tools = request["tools"]
    if not tools:
        return {}
    declarations = [_declaration(tool, f"tools[{index}]") for index, tool in enumerate(tools)]
    return {
        "tools": [{"functionDeclarations": declarations}],
        "toolConfig": {"functionCallingConfig": _calling(request["tool_choice"])},
    }


def _declaration(tool: Json, path: str) -> Json:
    if tool["type"] != "function":
        raise other_tool(tool, path)
    if not _FUNCTION_NAME.match(tool["name"]):
        raise unsupported(
            "The name of a function must begin with a letter or an underscore for this model's backend.",
            f"{path}.name",
        )
    declaration: Json = {"name": tool["name"]}
    if tool.get("description"):
        declaration["description"] = tool["description"]
    parameters = parameters_schema(tool.get("parameters"), f"{path}.parameters")
    if parameters is not None:
        declaration["parametersJsonSchema"] = parameters
    return declaration


def _calling(choice: str | Json) -> Json:
    if isinstance(choice, str):
        return {"mode": _MODES[choice]}
    if choice["type"] == "function":
        return {"mode": "ANY", "allowedFunctionNames": [choice["name"]]}
    if choice["type"] == "allowed_tools":
        return _calling_among(choice["tools"], choice["mode"])
    raise other_choice(choice)


def _calling_among(tools: list[Json], mode: str) -> Json:
    """The choice among some of the tools. All are declared, so that the prompt's cache stays warm."""
    if mode == "none":
        return {"mode": "NONE"}
    names: list[Any] = [tool["name"] for tool in tools if tool["type"] == "function"]
    return {"mode": "ANY" if mode == "required" else "VALIDATED", "allowedFunctionNames": names}
