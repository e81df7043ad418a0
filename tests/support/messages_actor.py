"""The actor of Anthropic Messages: answers any request plausibly, and refuses what the published reference does.

What it says is what the actor of Chat Completions says (`tests.support.actor`); how it says it is this format's.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.support.actor import act
from tests.support.chat import Json
from tests.support.messages import (
    message_error,
    message_json,
    message_stream,
    text_block,
    thinking_block,
    tool_block,
)

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_LEAST_BUDGET = 1024
THINKING = ("thinking", "redacted_thinking")


def act_messages(body: Any) -> tuple[int, bytes]:
    """The status and the reply to a Messages request."""
    fault = next(faults(body), None)
    if fault is not None:
        return 400, message_error("invalid_request_error", fault)
    answer = json.loads(act(_as_chat(body)))
    choice, usage = answer["choices"][0], answer["usage"]
    blocks = [*_thoughts(body), *_blocks(choice["message"])]
    stop = {"length": "max_tokens", "tool_calls": "tool_use"}.get(choice["finish_reason"], "end_turn")
    make = message_stream if body.get("stream") else message_json
    return 200, make(*blocks, stop=stop, usage=(usage["prompt_tokens"], usage["completion_tokens"]))


def faults(body: Any) -> Iterator[str]:
    """What the published reference refuses in a request."""
    if not isinstance(body, dict):
        yield "the body must be an object"
        return
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or limit < 1:
        yield "max_tokens: Field required"
    if not 0 <= body.get("temperature", 1) <= 1:
        yield "temperature: range: 0..1"
    yield from _faults_of_thinking(body)
    yield from _faults_of_tools(body)
    yield from _faults_of_messages(body.get("messages") or [])


def _faults_of_thinking(body: Json) -> Iterator[str]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or not _LEAST_BUDGET <= budget < body.get("max_tokens", 0):
            yield "max_tokens must be greater than thinking.budget_tokens, and that at least 1024"
        if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
            yield "Thinking may not be enabled when tool_choice forces tool use."
    if thinking.get("type") in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
        yield "temperature may only be set to 1 when thinking is enabled or in adaptive mode"


def _faults_of_tools(body: Json) -> Iterator[str]:
    tools = body.get("tools") or []
    for index, tool in enumerate(tools):
        if not _NAME.fullmatch(tool.get("name", "")):
            yield f"tools.{index}.name: String should match the pattern"
        if (tool.get("input_schema") or {}).get("type") != "object":
            yield f"tools.{index}.input_schema.type: Field required"
    choice = body.get("tool_choice") or {}
    if choice and not tools:
        yield "tool_choice may only be specified while providing tools"
    if choice.get("type") == "tool" and choice.get("name") not in [tool.get("name") for tool in tools]:
        yield "tool_choice.name: no such tool"


def _faults_of_messages(messages: list[Json]) -> Iterator[str]:
    if not messages or messages[0].get("role") != "user":
        yield 'messages: first message must use the "user" role'
    open_calls: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        blocks = _content(message)
        if message.get("role") not in ("user", "assistant"):
            yield f"{where}.role: Input should be 'user' or 'assistant'"
        if not blocks:
            yield f"{where}: all messages must have non-empty content"
            return
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(open_calls):
            yield f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after"
        if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            yield f"{where}: `tool_result` blocks must come first"
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if seen & set(open_calls):
            yield f"{where}: `tool_use` ids must be unique"
        seen |= set(open_calls)
        yield from _faults_of_blocks(blocks, where)
    if open_calls:
        yield "`tool_use` ids were found without `tool_result` blocks immediately after"


def _faults_of_blocks(blocks: list[Json], where: str) -> Iterator[str]:
    for place, block in enumerate(blocks):
        at = f"{where}.content.{place}"
        if block["type"] == "text" and not block["text"].strip():
            yield f"{at}: text content blocks must contain non-whitespace text"
        if block["type"] == "tool_use" and not _ID.fullmatch(block["id"]):
            yield f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if block["type"] == "tool_use" and not isinstance(block["input"], dict):
            yield f"{at}.tool_use.input: Input should be a valid dictionary"
        if block["type"] == "thinking" and not block.get("signature"):
            yield f"{at}.thinking.signature: Field required"
        if "cache_control" in block and block["type"] in THINKING:
            yield f"{at}: cache_control cannot be set for thinking blocks"
    if blocks[-1]["type"] in THINKING:
        yield f"{where}: The final block in an assistant message cannot be `thinking`."


def _as_chat(body: Json) -> Json:
    """What was asked, as the actor of Chat Completions hears it."""
    chat: Json = {"model": body.get("model"), "max_tokens": body["max_tokens"], "messages": []}
    if body.get("system"):
        chat["messages"].append({"role": "system", "content": _parts(_content({"content": body["system"]}))})
    for message in body["messages"]:
        blocks = _content(message)
        results = [block for block in blocks if block["type"] == "tool_result"]
        chat["messages"] += [{"role": "tool", "content": _parts(_content(result))} for result in results]
        rest = [block for block in blocks if block["type"] != "tool_result"]
        if rest:
            chat["messages"].append({"role": message["role"], "content": _parts(rest)})
    if body.get("tools"):
        chat["tools"] = [_function(tool) for tool in body["tools"]]
        chat["tool_choice"] = _choice(body.get("tool_choice") or {"type": "auto"})
    form = (body.get("output_config") or {}).get("format")
    if form:
        chat["response_format"] = {"type": "json_schema", "json_schema": {"schema": form["schema"]}}
    return chat


def _content(holder: Json) -> list[Json]:
    content = holder.get("content")
    return [text_block(content)] if isinstance(content, str) else list(content or [])


def _parts(blocks: list[Json]) -> list[Json]:
    known = [block for block in blocks if block["type"] in ("text", "image")]
    return [block if block["type"] == "text" else {"type": "image_url"} for block in known]


def _function(tool: Json) -> Json:
    return {"type": "function", "function": {"name": tool["name"], "parameters": tool["input_schema"]}}


def _choice(choice: Json) -> Any:
    if choice["type"] == "tool":
        return {"type": "function", "function": {"name": choice["name"]}}
    return _CHOICES[choice["type"]]


def _thoughts(body: Json) -> list[Json]:
    thinks = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    return [thinking_block("Let me think.", "dGhvdWdodA==")] if thinks else []


def _blocks(message: Json) -> list[Json]:
    said = [text_block(message["content"])] if message.get("content") else []
    calls = message.get("tool_calls") or []
    return [
        *said,
        *(
            tool_block(call["function"]["name"], json.loads(call["function"]["arguments"]), id=call["id"])
            for call in calls
        ),
    ]
