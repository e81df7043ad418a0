"""`/llms.txt`: the reference for agents, as one page of Markdown."""

from functools import cache

from django.conf import settings
from django.template.loader import render_to_string

from responses_api.http.reference import websocket
from responses_api.http.reference.call import Call
from responses_api.http.reference.calls import CALLS
from responses_api.http.reference.events import events
from responses_api.http.reference.refusals import EVERY, IN_A_STREAM


@cache
def page() -> bytes:
    """The page."""
    return render_to_string(
        "reference/llms.md",
        {
            "calls": [_line(call) for call in CALLS],
            "events": events(),
            "refusals": EVERY,
            "in_a_stream": [f"`{refusal.example.code or refusal.example.type}`" for refusal in IN_A_STREAM],
            "websocket": websocket.DESCRIPTION,
            "close_codes": websocket.CLOSE_CODES,
            "most_bytes": settings.MAX_BODY_BYTES,
            "most_items": settings.MAX_ITEMS,
            "most_context_bytes": settings.MAX_CONTEXT_BYTES,
            "longest_seconds": settings.RESPONSE_SECONDS,
            "keep_alive_seconds": settings.KEEP_ALIVE_SECONDS,
        },
    ).encode()


def _line(call: Call) -> str:
    key = f" Scope `{call.scope}`." if call.scope else " No key."
    first, *_ = call.description.split("\n\n")
    return f"`{call.method.upper()} {call.path}{_query(call)}`: {first}{key}"


def _query(call: Call) -> str:
    names = [parameter.name for parameter in call.parameters if parameter.place == "query"]
    return f"?{'&'.join(names)}" if names else ""
