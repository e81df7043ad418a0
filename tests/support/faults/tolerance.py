"""Faults of what clients may send."""

from collections.abc import Callable

from responses_api.conformance.prompts import HELLO
from responses_api.protocol.plain import Json
from tests.support.faults.changes import (
    at,
    creates,
    creates_only,
    echo,
    in_body,
    last_said,
    page,
    says,
    status,
)
from tests.support.faults.fault import Call, Fault


def _refuses(name: str, rule: str, concerns: Callable[[Call], bool]) -> Fault:
    return Fault(f"{name} refused", (f"tolerance.{rule}",), concerns, reply=status(400))


def _header(call: Call, name: str) -> str:
    return {key.lower(): value for key, value in call.headers.items()}.get(name, "")


def _same_id(events: list[Json]) -> list[Json]:
    for event in events:
        if "response" in event:
            event["response"]["id"] = "resp_same"
    return events


TOLERANCE = [
    _refuses("more nulls are", "more-nulls", lambda call: call.body.get("store", 0) is None),
    _refuses("a bare message is", "bare-message", creates(input=[{"role": "user", "content": HELLO}])),
    _refuses("messages of the system are", "roles", says(b'"role":"system"')),
    _refuses("items with ids of a client are", "replayed", says(b"msg_made_by_a_client")),
    _refuses("replayed reasoning is", "reasoning", says(b'"rs_1"')),
    _refuses("items of vendors are", "vendor-items", says(b"acme:note")),
    _refuses("a charset is", "charset", lambda call: _header(call, "content-type").endswith("utf-8")),
    _refuses(
        "a bearer in lower case is",
        "bearer",
        lambda call: _header(call, "authorization").startswith("bearer"),
    ),
    _refuses("an image without its place is", "image", says(b"data:image/png")),
    Fault(
        "two streams of one response",
        ("tolerance.two-at-once",),
        creates_only(input=HELLO, stream=True),
        events=_same_id,
    ),
    Fault(
        "a model has another name",
        ("models.one",),
        at("GET", "/models/test-model"),
        reply=in_body("id", value="other"),
    ),
    Fault(
        "nulls are refused",
        ("tolerance.nulls",),
        lambda call: call.body.get("top_p", 0) is None,
        reply=status(400),
    ),
    Fault(
        "unknown fields are refused",
        ("tolerance.unknown-fields",),
        creates(conformance=True),
        reply=status(400),
    ),
    Fault(
        "406",
        ("tolerance.accept",),
        lambda call: "text/html" in call.headers.values() and not call.body.get("stream"),
        reply=status(406),
    ),
    Fault("no slash", ("tolerance.slash",), lambda call: call.path == "/responses/", reply=status(404)),
    Fault("no gzip", ("tolerance.gzip",), lambda call: call.raw[:2] == b"\x1f\x8b", reply=status(400)),
    Fault(
        "text is harmed",
        ("tolerance.unicode",),
        lambda call: "\u2028" in str(call.body.get("instructions")),
        response=echo("metadata", {"text": "?"}),
    ),
    Fault(
        "the server's own items are refused",
        ("tolerance.own-items",),
        lambda call: says(b'"id":"msg_0')(call) and last_said(call) == HELLO,
        reply=status(400),
    ),
    Fault(
        "the model is not listed", ("models.list",), lambda call: call.path == "/models", reply=page(data=[])
    ),
]
