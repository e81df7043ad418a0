"""Answers any generateContent request as the actor for Chat Completions would, in this format.

It signs its first call as models from Gemini 3 on do, and wants the signature back (`tests.support.gemini_rules`).
"""

import json
import re
from typing import Any

from tests.support.actor import act
from tests.support.chat import Json
from tests.support.gemini import (
    call_part,
    gemini_chunk,
    gemini_error,
    gemini_event,
    gemini_usage,
    text_part,
    thought_part,
)
from tests.support.gemini_rules import by_json_names, fault_in, signature_of

_MODES = {"ANY": "required", "NONE": "none"}


def act_gemini(body: Json, *, streams: bool) -> tuple[int, bytes]:
    """The status and the body of the answer: a refusal where the request breaks a rule."""
    body = by_json_names(body)
    fault = fault_in(body)
    if fault is not None:
        return 400, gemini_error(400, "INVALID_ARGUMENT", fault)
    told = json.loads(act(_as_chat(body)))
    choice = told["choices"][0]
    parts = _thoughts(body) + _parts(choice["message"], len(body["contents"]))
    finish = "MAX_TOKENS" if choice["finish_reason"] == "length" else "STOP"
    counts = told["usage"]
    usage = gemini_usage((counts["prompt_tokens"], counts["completion_tokens"]))
    if not streams:
        return 200, json.dumps(gemini_chunk(*parts, finish=finish, usage=usage)).encode()
    told_parts = _cut(parts)
    if "text" in told_parts[-1]:
        # The signature of a text comes at its end, on a part of its own.
        told_parts.append(text_part("", signature_of(text_part(""))))
    chunks = [gemini_chunk(part) for part in told_parts[:-1]]
    chunks.append(gemini_chunk(told_parts[-1], finish=finish, usage=usage))
    return 200, b"".join(map(gemini_event, chunks))


def count_gemini(body: Json) -> tuple[int, bytes]:
    """The answer of `countTokens`: a word of what is read is a token."""
    whole = body.get("generateContentRequest") or body
    if "generateContentRequest" in body and not str(whole.get("model", "")).startswith("models/"):
        return 400, gemini_error(
            400, "INVALID_ARGUMENT", "generateContentRequest.model: unexpected model name format"
        )
    read = json.dumps([whole.get("systemInstruction"), whole.get("contents"), whole.get("tools")])
    return 200, json.dumps({"totalTokens": len(re.findall(r"\w+", read))}).encode()


def _as_chat(body: Json) -> Json:
    messages: list[Json] = []
    instructions = _text(body.get("systemInstruction") or {})
    if instructions:
        messages.append({"role": "system", "content": instructions})
    for content in body["contents"]:
        messages += _as_messages(content)
    chat: Json = {"messages": messages, "model": "m"}
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    if declared:
        chat["tools"] = [{"type": "function", "function": _as_function(one)} for one in declared]
        chat["tool_choice"] = _as_choice((body.get("toolConfig") or {}).get("functionCallingConfig") or {})
    config = body.get("generationConfig") or {}
    if "maxOutputTokens" in config:
        chat["max_tokens"] = config["maxOutputTokens"]
    if "responseJsonSchema" in config:
        chat["response_format"] = {
            "type": "json_schema",
            "json_schema": {"schema": config["responseJsonSchema"]},
        }
    elif config.get("responseMimeType") == "application/json":
        chat["response_format"] = {"type": "json_object"}
    return chat


def _as_messages(content: Json) -> list[Json]:
    answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
    if answers:
        return [{"role": "tool", "content": _answer(answer["response"])} for answer in answers]
    role = "assistant" if content.get("role") == "model" else "user"
    parts = [
        {"type": "text", "text": part["text"]} if "text" in part else {"type": "image_url"}
        for part in content["parts"]
        if part.keys() & {"text", "inlineData", "fileData"} and not part.get("thought")
    ]
    return [{"role": role, "content": parts}]


def _answer(response: Json) -> str:
    output = response.get("output", response.get("result", response))
    return output if isinstance(output, str) else json.dumps(output)


def _as_function(declaration: Json) -> Json:
    return {"name": declaration["name"], "parameters": declaration.get("parametersJsonSchema")}


def _as_choice(calling: Json) -> Any:
    names = calling.get("allowedFunctionNames")
    if calling.get("mode") == "ANY" and names:
        return {"type": "function", "function": {"name": names[0]}}
    return _MODES.get(calling.get("mode", "AUTO"), "auto")


def _thoughts(body: Json) -> list[Json]:
    thinking = (body.get("generationConfig") or {}).get("thinkingConfig") or {}
    return [thought_part("Let me think.")] if thinking.get("includeThoughts") else []


def _parts(message: Json, round_: int) -> list[Json]:
    calls = message.get("tool_calls") or []
    parts = [text_part(message["content"])] if message.get("content") else []
    for index, call in enumerate(calls):
        args = json.loads(call["function"]["arguments"])
        part = call_part(call["function"]["name"], args, id=f"fc-{round_}-{index}")
        parts.append({**part, "thoughtSignature": signature_of(part)} if index == 0 else part)
    return parts or [text_part("")]


def _cut(parts: list[Json]) -> list[Json]:
    """The parts as a stream has them: a text word by word."""
    cut: list[Json] = []
    for part in parts:
        words = re.findall(r"\S+\s*|\s+", part.get("text", ""))
        cut += [{**part, "text": word} for word in words] if "text" in part else [part]
    return cut or parts


def _text(content: Json) -> str:
    return "\n".join(part.get("text", "") for part in content.get("parts") or ())
