"""What the published reference of generateContent demands of a request: the scripted upstream refuses anything else.

Of the rules for models from Gemini 3 on: turns, calls and their answers, thought signatures, declarations, settings.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.support.chat import Json

DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")

_FIELDS = {
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
}
_KINDS = {"text", "inlineData", "fileData", "functionCall", "functionResponse"}
_PART_FIELDS = {*_KINDS, "thought", "thoughtSignature", "videoMetadata", "mediaResolution"}
_CONFIG_FIELDS = {
    "stopSequences",
    "responseMimeType",
    "responseJsonSchema",
    "responseSchema",
    "responseModalities",
    "candidateCount",
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "responseLogprobs",
    "logprobs",
    "thinkingConfig",
    "mediaResolution",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")


_CLIENTS_OWN = {"args", "response", "parametersJsonSchema", "responseJsonSchema"}


def by_json_names(value: Any) -> Any:
    """The request with every field under its JSON name: the API takes the names of its messages as well."""
    if isinstance(value, list):
        return [by_json_names(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    named = {
        re.sub("_([a-z])", lambda letter: letter[1].upper(), name): entry for name, entry in value.items()
    }
    return {name: entry if name in _CLIENTS_OWN else by_json_names(entry) for name, entry in named.items()}


def signature_of(part: Json) -> str:
    """The signature that the scripted upstream gives a part, and knows again."""
    told = json.dumps(part.get("functionCall", {}).get("args", {}), sort_keys=True)
    mark = f"{part.get('text')}|{part.get('functionCall', {}).get('name')}|{told}"
    return base64.b64encode(hashlib.sha256(mark.encode()).digest()[:12]).decode()


def fault_in(body: Json) -> str | None:
    """What is wrong with a request, its fields under their JSON names, as the API would say it; None for nothing."""
    return next(_faults(body), None)


def _faults(body: Json) -> Iterator[str]:
    yield from _unknown(body, _FIELDS, "the request")
    yield from _faults_of_contents(body.get("contents") or [])
    yield from _faults_of_tools(body)
    yield from _faults_of_config(body.get("generationConfig") or {})


def _unknown(value: Json, known: set[str], where: str) -> Iterator[str]:
    for name in value.keys() - known:
        yield f'Invalid JSON payload received. Unknown name "{name}" at {where}: Cannot find field.'


def _faults_of_contents(contents: list[Json]) -> Iterator[str]:
    if not contents:
        yield "* GenerateContentRequest.contents: contents is not specified"
        return
    if contents[0].get("role", "user") != "user":
        yield "Please ensure that a multiturn conversation begins with a user turn."
    yield from _faults_of_answers({}, contents[0], {})
    for index, content in enumerate(contents):
        if content.get("role", "user") not in ("user", "model"):
            yield "Please use a valid role: user, model."
        if not content.get("parts"):
            yield f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty."
        for part in content.get("parts") or ():
            yield from _faults_of_part(part)
        following = contents[index + 1] if index + 1 < len(contents) else {}
        yield from _faults_of_answers(content, following, contents[index - 1] if index else {})
    yield from _faults_of_steps(contents)


def _faults_of_part(part: Json) -> Iterator[str]:
    yield from _unknown(part, _PART_FIELDS, "a part")
    kinds = part.keys() & _KINDS
    if len(kinds) != 1 and not (not kinds and "thoughtSignature" in part):
        yield "Unable to submit request because a part must have one initialized field: data."
    if part.get("text") == "" and "thoughtSignature" not in part:
        yield "Unable to submit request because it has an empty text parameter."
    for kind in ("inlineData", "fileData"):
        if kind in part and not (part[kind].get("mimeType") or kind == "fileData"):
            yield "Unable to submit request because it has no mimeType."
    signature = part.get("thoughtSignature")
    if signature is not None and _bare(signature) not in map(_bare, (*DUMMIES, signature_of(part))):
        yield "Corrupted thought signature."


def _bare(signature: str) -> str:
    """A signature without the difference between the two alphabets of base64: JSON's bytes may come in either."""
    return signature.translate(str.maketrans("-_", "+/"))


def _faults_of_answers(content: Json, following: Json, before: Json) -> Iterator[str]:
    """Calls come right behind what somebody else said, and what answers them right behind them."""
    calls, answers = _of_kind(content, "functionCall"), _of_kind(following, "functionResponse")
    if calls and before.get("role") == "model":
        yield "Please ensure that function call turn comes immediately after a user turn or a function response turn."
    if not calls and answers:
        yield "Please ensure that function response turn comes immediately after a function call turn."
    if calls and len(calls) != len(answers):
        yield "Please ensure that the number of function response parts is equal to the number of function call parts."
    for call, answer in zip(calls, answers, strict=False):
        if (call.get("name"), call.get("id")) != (answer.get("name"), answer.get("id")):
            yield f"Function response '{answer.get('name')}' does not match its call '{call.get('name')}'."
        if not isinstance(call.get("args", {}), dict) or not isinstance(answer.get("response"), dict):
            yield "Invalid value at 'contents': a Struct was expected."


def _faults_of_steps(contents: list[Json]) -> Iterator[str]:
    """In the turn that is going on, the first call of each step has a signature."""
    spoken = [
        index
        for index, content in enumerate(contents)
        if content.get("role", "user") == "user"
        and any("functionResponse" not in part for part in content["parts"])
    ]
    for content in contents[spoken[-1] if spoken else 0 :]:
        first = next((part for part in content.get("parts") or () if "functionCall" in part), None)
        if first is not None and not first.get("thoughtSignature"):
            name = first["functionCall"].get("name")
            yield f"Function call is missing a thought_signature in functionCall parts: `default_api:{name}`."


def _of_kind(content: Json, kind: str) -> list[Json]:
    return [part[kind] for part in content.get("parts") or () if kind in part]


def _faults_of_tools(body: Json) -> Iterator[str]:
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    for one in declared:
        yield from _unknown(
            one, {"name", "description", "parameters", "parametersJsonSchema"}, "a declaration"
        )
        if not _NAME.fullmatch(one.get("name", "")):
            yield "Invalid function name. Must start with a letter or an underscore."
        if "parametersJsonSchema" in one:
            schema = one["parametersJsonSchema"]
            if schema.get("type") != "object":
                yield "parameters_json_schema: should be of type object."
            yield from _faults_of_schema(schema)
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    names = calling.get("allowedFunctionNames") or []
    if names and calling.get("mode") not in ("ANY", "VALIDATED"):
        yield "Allowed function names are only for the modes ANY and VALIDATED."
    if set(names) - {one.get("name") for one in declared}:
        yield "allowed_function_names should contain only declared functions."


def _faults_of_schema(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for entry in schema:
            yield from _faults_of_schema(entry)
    if not isinstance(schema, dict):
        return
    if "$ref" in schema and any(not name.startswith("$") for name in schema):
        yield "If $ref is set on a sub-schema, no other properties may be set."
    if schema.get("type") == "array" and not schema.keys() & {"items", "prefixItems"}:
        yield "items: missing field."
    if any(isinstance(value, bool) or value is None for value in schema.get("enum") or ()):
        yield "enum: only strings and numbers."
    for value in schema.values():
        yield from _faults_of_schema(value)


def _faults_of_config(config: Json) -> Iterator[str]:
    yield from _unknown(config, _CONFIG_FIELDS, "'generation_config'")
    thinking = config.get("thinkingConfig") or {}
    if {"thinkingLevel", "thinkingBudget"} <= thinking.keys():
        yield "You can only set one of thinking budget and thinking level."
    if "logprobs" in config and not config.get("responseLogprobs"):
        yield "Logprobs is set but response_logprobs is not."
    if "responseJsonSchema" in config:
        if config.get("responseMimeType") != "application/json":
            yield "A response schema needs the response mime type application/json."
        yield from _faults_of_schema(config["responseJsonSchema"])
