"""Jobs and Chat Completions bytes for the tests of this folder."""

from collections.abc import Callable
from typing import Any

import orjson

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import parse_create
from responses_api.protocol.response import snapshot, stored_item


def make_job(
    base_url: str = "http://127.0.0.1:9/v1",
    *,
    history: list[Json] | None = None,
    row: Json | None = None,
    **fields: Any,
) -> Job:
    """A job for a create request with these fields, or those of its backend; `history` comes before its input.

    What both have, `tools` and `reasoning`, is the request's; `row` is of the backend alone.
    """
    of_backend = set(BackendSpec.__slots__) - {"tools", "reasoning"}
    spec = {name: fields.pop(name) for name in list(fields) if name in of_backend} | (row or {})
    request = parse_create({"model": "sparrow", "input": "hello", **fields})
    backend = {
        "name": "test",
        "kind": "chat_completions",
        "base_url": base_url,
        "api_key_env": None,
        "connect_timeout": 5.0,
        "first_byte_timeout": 5.0,
        "idle_timeout": 5.0,
        "total_timeout": 20.0,
        **spec,
    }
    return Job(
        response_id="resp_1",
        tenant_id="tenant",
        key_id="key",
        request_id="req",
        created_at=1_750_000_000,
        request=request.to_plain(),
        history=history or [],
        input_items=[stored_item(item, f"in_{n}") for n, item in enumerate(request.input)],
        backend=backend,
        upstream_model="sparrow-7b",
        inbox=None,
        dialect="open",
    )


def base_snapshot(**fields: Any) -> Json:
    """The snapshot that an emitter starts from."""
    request = parse_create({"model": "sparrow", "input": "hello", **fields})
    return snapshot(response_id="resp_1", created_at=1_750_000_000, request=request, status="in_progress")


def counting_ids() -> Callable[[str], str]:
    """Ids that can be predicted: `msg_1`, `fc_2` …, one count for all."""
    count = 0

    def new_id(prefix: str) -> str:
        nonlocal count
        count += 1
        return f"{prefix}_{count}"

    return new_id


def chunk(delta: Json | None = None, finish: str | None = None, **choice: Any) -> bytes:
    """One streamed chunk with one choice."""
    told = {"index": 0, "delta": delta or {}, "finish_reason": finish, **choice}
    return event({"id": "c-1", "object": "chat.completion.chunk", "model": "m", "choices": [told]})


def event(value: Any) -> bytes:
    """One SSE event of an upstream, with any JSON as data."""
    return b"data: " + orjson.dumps(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"
