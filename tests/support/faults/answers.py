"""Faults of answers that are no streams: the resource, and errors."""

import itertools
from collections.abc import Callable
from typing import Any

from responses_api.conformance.evidence import SETTINGS
from responses_api.conformance.prompts import COUNT, GOODBYE, HELLO
from responses_api.protocol.plain import Json
from tests.support.faults.changes import (
    at,
    content_type,
    creates,
    creates_only,
    in_body,
    in_response,
    status,
    without,
)
from tests.support.faults.fault import Call, Fault, Reply

_PLAIN = creates_only(input=HELLO)
SET = creates_only(input=HELLO, **SETTINGS)
CUT = creates(input=COUNT, max_output_tokens=16)
TIER = creates(service_tier="auto")
WRONG_VALUE = creates_only(input=HELLO, max_output_tokens=1)
_UNKNOWN_MODEL = "conformance-no-such-model"
_numbers = itertools.count()


def plain(call: Call) -> bool:
    """A call with nothing but an input, by somebody known."""
    is_strange = call.body.get("model") == _UNKNOWN_MODEL or _no_key(call) or _wrong_key(call)
    return _PLAIN(call) and not is_strange


def either(*conditions: Callable[[Call], bool]) -> Callable[[Call], bool]:
    """A call that one of the conditions holds for."""
    return lambda call: any(condition(call) for condition in conditions)


def _sequential(reply: Reply) -> Reply:
    return in_body("id", value=f"resp_{next(_numbers):044}")(reply)


def _header(call: Call, name: str) -> str:
    return {key.lower(): value for key, value in call.headers.items()}.get(name, "")


def _no_key(call: Call) -> bool:
    return call.is_create and not _header(call, "authorization")


def _wrong_key(call: Call) -> bool:
    return "not-a-key" in _header(call, "authorization")


def _raw(data: bytes) -> Callable[[Call], bool]:
    return lambda call: call.is_create and call.raw == data


def _without_code(reply: Reply) -> Reply:
    error = {name: value for name, value in reply.body["error"].items() if name != "code"}
    return reply.with_body({"error": error})


def _resource(name: str, rule: str, change: Callable[[Json], Json], concerns: Any = plain) -> Fault:
    return Fault(name, (rule,), concerns, response=change)


def _error(name: str, rule: str, change: Callable[[Reply], Reply], concerns: Any = WRONG_VALUE) -> Fault:
    return Fault(name, (rule,), concerns, reply=change)


RESOURCE = [
    _resource(
        "another reason",
        "streams.cut-reason",
        in_response("incomplete_details", "reason", value="tired"),
        CUT,
    ),
    _resource("a field is missing", "resource.shape", without("service_tier")),
    _resource(
        "a field is null that may only be absent",
        "resource.shape",
        in_response("output", 0, "phase", value=None),
    ),
    _resource(
        "a part has no annotations",
        "resource.shape",
        in_response("output", 0, "content", 0, value={"type": "output_text", "text": "x"}),
    ),
    _resource("a default is another one", "resource.defaults", in_response("truncation", value="auto")),
    _resource("metadata is lost", "resource.echo", in_response("metadata", value={}), SET),
    _resource("the instructions are lost", "resource.echo", in_response("instructions", value=None), SET),
    _resource("no model", "resource.model", in_response("model", value="")),
    _resource("a wrong sum", "resource.usage", in_response("usage", "total_tokens", value=0)),
    _resource("no text", "resource.text", in_response("output", value=[])),
    _resource("times in milliseconds", "resource.times", in_response("created_at", value=1_796_000_000_000)),
    _resource(
        "items share an id", "resource.ids", in_response("output", 0, "id", value="msg_1"), either(plain, SET)
    ),
    _resource(
        "a tier is lost",
        "resource.service-tier",
        in_response("service_tier", value=""),
        creates(service_tier="auto"),
    ),
    Fault("ids are counted", ("resource.unguessable",), creates_only(input=GOODBYE), reply=_sequential),
    _resource(
        "a schema is echoed",
        "resource.format-schema",
        in_response("text", "format", "schema", value={"type": "object"}),
        lambda call: "json_schema" in str(call.body.get("text")),
    ),
    Fault(
        "JSON of another type",
        ("resource.content-type",),
        plain,
        reply=content_type("text/plain; charset=utf-8"),
    ),
]

ERRORS = [
    _error("an error with status 200", "errors.no-object", status(200), _raw(b"[]")),
    _error("an error of the server for bad JSON", "errors.malformed", status(500), _raw(b'{"model": ')),
    _error("a code is missing", "errors.fields", _without_code),
    _error("an empty message", "errors.shape", in_body("error", "message", value="")),
    _error("a type of another API", "errors.types", in_body("error", "type", value="invalid_request_error")),
    _error("a wrong type", "errors.kinds", in_body("error", "type", value="server_error")),
    _error("an error page", "errors.content-type", content_type("text/html"), _no_key),
    _error("no param", "errors.param", in_body("error", "param", value=None)),
    _error("403 without a key", "errors.no-key", status(403), _no_key),
    _error(
        "403 with a wrong key",
        "errors.wrong-key",
        status(403),
        _wrong_key,
    ),
    _error(
        "503 for an unknown model",
        "errors.unknown-model",
        status(503),
        creates(model=_UNKNOWN_MODEL),
    ),
    _error(
        "another code for an unknown model",
        "errors.model-not-found",
        in_body("error", "code", value="no_model"),
        creates(model=_UNKNOWN_MODEL),
    ),
    _error(
        "a short path",
        "errors.param-path",
        in_body("error", "param", value="input"),
        lambda call: b'"image_url":7' in call.raw,
    ),
    _error("a form is read", "errors.media-type", status(200), lambda call: call.raw.startswith(b"model=x")),
    _error("500 for an unknown id", "errors.unknown-response", status(500), at("GET", "/responses/not-even")),
    _error("500 for an unknown path", "errors.unknown-path", status(500), at("GET", "/conformance-")),
    _error(
        "a page for a wrong method",
        "errors.wrong-method",
        in_body("error", value="no"),
        at("PUT", "/responses"),
    ),
    _error(
        "an error that claims to be a stream",
        "errors.stream-refused",
        content_type("text/event-stream"),
        creates_only(input=HELLO, max_output_tokens=1, stream=True),
    ),
]

RETRIEVED = [
    Fault(
        "GET tells something else",
        ("resource.same-as-get", "streams.get-equal", "stored.retrieve"),
        at("GET", "/responses/resp_"),
        reply=lambda reply: (
            in_body("id", value="resp_1")(reply) if reply.body.get("object") == "response" else reply
        ),
    ),
]

LIMITS = [
    _error(
        "a limit without Retry-After",
        "run.retry-after",
        status(429),
        lambda call: _header(call, "content-type").endswith("utf-8"),
    ),
]
