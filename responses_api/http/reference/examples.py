"""Answers as the reference shows them, made by what makes the real ones."""

from typing import Any, Final

from responses_api.protocol import events
from responses_api.protocol.files import file_object
from responses_api.protocol.plain import Json
from responses_api.protocol.published import answers
from responses_api.protocol.published.events import EventStream
from responses_api.protocol.published.response import Response
from responses_api.protocol.published.usage import LimitList, UsageReport
from responses_api.protocol.request import parse_create
from responses_api.protocol.response import snapshot, stored_item, usage
from responses_api.protocol.sse import encode

MODEL: Final = "smollm2"
FILE_ID: Final = "file_019ad2b8f6c04c1d7e3b9a5f2680d4c7e1b3a9f5d2e8"
RESPONSE_ID: Final = "resp_019ad2b8f6c0d2f1c07b1e5a4c0f9a3be8d471266a5b"

_MESSAGE_ID: Final = "msg_019ad2b8f6f1a95e03c2d7b84f16e0927c5da83b1e40"
_INPUT_ID: Final = "msg_019ad2b8f6c00b7d9f4e2a6158c3d7e9f012b4a6c8d0"
_COMPACTION_ID: Final = "cmp_019ad2b8f6c03f5e8a7b9c1d0e2f4a6b8c0d1e3f5a7b"
_CREATED_AT: Final = 1764460800

ASKED: Final[Json] = {"model": MODEL, "input": "Say hello."}

_REQUEST: Final = parse_create(ASKED)
_SAID: Final[Json] = {
    "type": "message",
    "id": _MESSAGE_ID,
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hello!", "annotations": [], "logprobs": []}],
}
_RESPONSE: Final = snapshot(
    response_id=RESPONSE_ID,
    created_at=_CREATED_AT,
    request=_REQUEST,
    status="completed",
    output=[_SAID],
    usage=usage(input_tokens=12, output_tokens=3),
    completed_at=_CREATED_AT + 1,
)
_EVENT: Final = {**events.output_text_delta(_MESSAGE_ID, 0, 0, "Hello"), "sequence_number": 4}
_MODEL: Final[Json] = {"id": MODEL, "object": "model", "created": _CREATED_AT, "owned_by": "local"}
_FILE: Final = file_object(
    file_id=FILE_ID,
    filename="herons.pdf",
    size=182_417,
    purpose="user_data",
    status="processed",
    status_details=None,
    created_at=_CREATED_AT,
    expires_at=None,
)


def _list(entry: Json) -> Json:
    return {
        "object": "list",
        "data": [entry],
        "first_id": entry["id"],
        "last_id": entry["id"],
        "has_more": False,
    }


EXAMPLES: Final[dict[Any, Any]] = {
    Response: _RESPONSE,
    EventStream: {"event": _EVENT["type"], "data": encode(_EVENT).decode()},
    answers.ResponseList: _list(_RESPONSE),
    answers.ItemList: _list(stored_item(_REQUEST.input[0], _INPUT_ID)),
    answers.DeletedResponse: {"id": RESPONSE_ID, "object": "response", "deleted": True},
    answers.CompactedWindow: {
        "id": RESPONSE_ID,
        "object": "response.compaction",
        "created_at": _CREATED_AT,
        "output": [
            stored_item(_REQUEST.input[0], _INPUT_ID),
            {"type": "compaction", "id": _COMPACTION_ID, "encrypted_content": "AX8cZ0v…"},
        ],
        "usage": usage(input_tokens=139, output_tokens=43),
    },
    answers.TokenCount: {"object": "response.input_tokens", "input_tokens": 12},
    answers.File: _FILE,
    answers.FileList: _list(_FILE),
    answers.DeletedFile: {"id": FILE_ID, "object": "file", "deleted": True},
    answers.Model: _MODEL,
    answers.ModelList: {"object": "list", "data": [_MODEL]},
    UsageReport: {
        "object": "usage",
        "start": 1764460800,
        "end": 1764547200,
        "group_by": ["day", "model"],
        "currency": "USD",
        "data": [
            {
                "object": "usage.bucket",
                "start": 1764460800,
                "end": 1764547200,
                "model": MODEL,
                "key": None,
                "requests": 1250,
                "errors": 3,
                "input_tokens": 812_400,
                "cached_tokens": 240_000,
                "output_tokens": 96_310,
                "reasoning_tokens": 0,
                "cost": "0.6203",
                "cost_nanos": 620_300_000,
            }
        ],
        "has_more": False,
        "next_page": None,
    },
    LimitList: {
        "object": "list",
        "currency": "USD",
        "data": [
            {
                "object": "limit",
                "id": "3f1f9bcb-6d2f-4f5e-9f0e-0d3b7a8d1c55",
                "scope": "tenant",
                "model": None,
                "metric": "tokens_per_day",
                "kind": "hard",
                "set_by": "operator",
                "amount": 1_000_000,
                "used": 908_710,
                "reserved": 4_200,
                "remaining": 87_090,
                "resets_at": 1764547200,
            }
        ],
    },
    answers.Health: {"status": "ok"},
    answers.Readiness: {
        "status": "ready",
        "parts": {"database": "ok", "valkey": "ok", "broker": "ok", "worker": "ok"},
    },
}
"""By the published type of the body."""
