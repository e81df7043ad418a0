"""The response resource as every snapshot shows it, and items as they are stored.

Specification: `ResponseResource`, `ItemField`, `Usage`. Every field is always there; fields that the schema
lets be absent but not null are left out.
"""

from collections.abc import Container, Iterable
from typing import Final

from responses_api.protocol.backend_options import FIELD as BACKEND_OPTIONS
from responses_api.protocol.given_receipts import NAMED, SENT_ID
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.server_tools import is_known
from responses_api.protocol.validation import is_vendor_type

ENCRYPTED_CONTENT: Final = "reasoning.encrypted_content"
"""The value of `include` that asks for the sealed state of reasoning."""


def snapshot(
    *,
    response_id: str,
    created_at: int,
    request: CreateRequest,
    status: str,
    output: Iterable[Json] = (),
    usage: Json | None = None,
    error: Json | None = None,
    incomplete_details: Json | None = None,
    completed_at: int | None = None,
    extensions: Json | None = None,
) -> Json:
    """The response as it is now, the request's settings echoed.

    Times are unix seconds. `error` is `{code, message}`, `incomplete_details` is `{reason}`,
    `extensions` are fields with a vendor's prefix.
    """
    return {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "completed_at": completed_at,
        "status": status,
        "incomplete_details": incomplete_details,
        "model": request.model,
        "previous_response_id": request.previous_response_id,
        "instructions": request.instructions,
        "output": shown_output(output, request.include),
        "error": error,
        "tools": request.tools,
        "tool_choice": request.tool_choice,
        "truncation": request.truncation,
        "parallel_tool_calls": request.parallel_tool_calls,
        "text": _echoed_text(request.text),
        "top_p": 1.0 if request.top_p is None else request.top_p,
        "presence_penalty": 0.0 if request.presence_penalty is None else request.presence_penalty,
        "frequency_penalty": 0.0 if request.frequency_penalty is None else request.frequency_penalty,
        "top_logprobs": request.top_logprobs or 0,
        "temperature": 1.0 if request.temperature is None else request.temperature,
        "reasoning": request.reasoning or {"effort": None, "summary": None},
        "usage": usage,
        "max_output_tokens": request.max_output_tokens,
        "max_tool_calls": request.max_tool_calls,
        "store": request.store,
        "background": request.background,
        # "auto" leaves the choice to the server, and a response tells which tier it got.
        "service_tier": "default" if request.service_tier == "auto" else request.service_tier,
        "metadata": request.metadata,
        "safety_identifier": request.safety_identifier,
        "prompt_cache_key": request.prompt_cache_key,
        **({BACKEND_OPTIONS: request.backend_options} if request.backend_options else {}),
        **(extensions or {}),
    }


def extensions_of(response: Json) -> Json | None:
    """The fields of a snapshot that have a vendor's prefix and are not of its request; None where it has none."""
    return {
        name: value for name, value in response.items() if is_vendor_type(name) and name != BACKEND_OPTIONS
    } or None


def _echoed_text(text: Json) -> Json:
    """The schema lets a JSON Schema format be echoed only without its schema."""
    form = text["format"]
    if form["type"] != "json_schema":
        return text
    return {**text, "format": {**form, "schema": None}}


def shown_item(item: Json, include: Container[str]) -> Json:
    """An output item as its reader gets it: the sealed state of reasoning is shown to who asked for it.

    The one place that leaves it out. Specification: `include`, `reasoning.encrypted_content`.
    """
    if item["type"] != "reasoning" or "encrypted_content" not in item or ENCRYPTED_CONTENT in include:
        return item
    return {name: value for name, value in item.items() if name != "encrypted_content"}


def shown_output(output: Iterable[Json], include: Container[str]) -> list[Json]:
    """Output items as `shown_item` shows each."""
    return [shown_item(item, include) for item in output]


def usage(
    input_tokens: int,
    output_tokens: int,
    cached_tokens: int = 0,
    reasoning_tokens: int = 0,
    total_tokens: int | None = None,
) -> Json:
    """Token counts, the detail objects always present; the total is the sum unless it is told."""
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": cached_tokens},
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning_tokens},
        "total_tokens": input_tokens + output_tokens if total_tokens is None else total_tokens,
    }


def stored_item(item: Json, item_id: str) -> Json:
    """A canonical input item as it is stored and listed: with its id, and completed.

    Raises ValueError for an item reference: it must have been replaced by the item it names.
    """
    kind = item["type"]
    if kind == "item_reference":
        raise ValueError("an item reference is not an item that can be stored")
    stored: Json = {"type": kind, "id": item_id, "status": "completed"}
    if kind == "compaction" or (is_foreign(kind) and not is_known(kind)):
        # The one item whose schema knows no status, and those of which nobody here knows whether they do.
        del stored["status"]
    stored.update(item)
    if item.get("id") and kind in NAMED:
        stored.setdefault(SENT_ID, item["id"])  # a reference named it so
    stored["id"] = item_id
    if kind == "message":
        stored["content"] = _stored_parts(item["content"])
    elif kind == "function_call_output" and not isinstance(item["output"], str):
        stored["output"] = _stored_parts(item["output"])
    return stored


def _stored_parts(parts: list[Json]) -> list[Json]:
    """Parts with what only the stored form requires: an image's `detail`."""
    return [{"detail": "auto", **part} if part["type"] == "input_image" else part for part in parts]
