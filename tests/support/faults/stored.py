"""Faults of what is stored."""

from responses_api.conformance.prompts import HELLO
from tests.support.faults.changes import (
    NEVER,
    asking,
    at,
    creates_only,
    in_body,
    names_never,
    only,
    page,
)
from tests.support.faults.fault import Call, Fault, Reply


def _turned(reply: Reply) -> Reply:
    return (
        reply.with_body({**reply.body, "data": reply.body["data"][::-1]}) if "data" in reply.body else reply
    )


STORED = [
    Fault(
        "another code for an unknown chain",
        ("chains.unknown", "stored.unknown-alike", "stored.foreign-alike"),
        names_never,
        reply=in_body("error", "code", value="not_found"),
    ),
    Fault("the list is turned", ("stored.list-order",), at("GET", "/responses?limit=100"), reply=_turned),
    Fault(
        "there is never more",
        ("stored.list-pages",),
        at("GET", "/responses?order=desc"),
        reply=page(has_more=False),
    ),
    Fault(
        "any limit is taken",
        ("stored.list-limits",),
        at("GET", "/responses?limit=101"),
        call=lambda call: Call(call.method, "/responses?limit=100", call.headers, call.raw),
    ),
    Fault(
        "a deletion is told otherwise",
        ("stored.delete",),
        at("DELETE", "/responses/"),
        reply=only(200, in_body("deleted", value=False)),
    ),
    Fault(
        "nothing is deleted",
        ("stored.delete", "stored.unknown-alike", "chains.deleted", "chains.deleted-in-the-middle"),
        at("DELETE", "/responses/resp_01"),
        call=lambda call: Call("GET", call.path, call.headers, b""),
        reply=only(200, in_body("deleted", value=True)),
    ),
    Fault(
        "store false is stored",
        ("stored.not-stored", "chains.not-stored"),
        creates_only(input=HELLO, store=False),
        call=asking(store=None),
    ),
    Fault(
        "input items are turned",
        ("stored.input-items",),
        lambda call: "/input_items" in call.path,
        reply=_turned,
    ),
    Fault(
        "what was is told apart from what never was",
        ("stored.unknown-alike", "stored.foreign-alike"),
        lambda call: (
            call.method == "GET" and call.path.startswith("/responses/resp_") and NEVER not in call.path
        ),
        reply=only(404, in_body("error", "message", value="It is gone.")),
    ),
]
