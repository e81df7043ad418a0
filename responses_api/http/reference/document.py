"""The OpenAPI document: the registry of the calls, put together with the components."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from operator import attrgetter
from threading import Lock
from typing import Any, Final

from responses_api.http.reference.call import FORM, JSON, Answer, Call, Parameter
from responses_api.http.reference.calls import CALLS
from responses_api.http.reference.examples import EXAMPLES
from responses_api.http.reference.refusals import RATE_HEADERS, Refusal
from responses_api.http.reference.schemas import components, ref
from responses_api.protocol.plain import Json
from responses_api.protocol.published import answers
from responses_api.protocol.sse import encode

VERSION: Final = "0.1.0"

_DESCRIPTION: Final = """\
Antiphon serves the [Open Responses](https://www.openresponses.org) API (release 2026-04-24). A client that speaks
OpenAI's Responses API speaks it: give it this server's address with `/v1`, and a key.

* A trailing slash never changes the meaning of an address.
* Unknown fields of a request are ignored; `null` means a field's default.
* Answers and events may get new fields; clients ignore what they do not know.
* Text holds neither the character U+0000 nor lone surrogates, and numbers have at most 64 bits.
* Every answer carries `X-Request-ID`, which finds it in the server's log. A request may bring its own.
"""
_TAGS: Final = {
    "Responses": "Ask models, and read what was stored.",
    "Files": "Keep files, for models to read and to be searched.",
    "Models": "What can be asked.",
    "Usage": "What was used, what it cost, and where limits stand.",
    "Operations": "For who runs the service.",
    "Reference": "What you are reading.",
}
_STATUS_WORDS: Final = {
    400: "The request cannot be served as it is.",
    401: "There is no valid key.",
    403: "Not allowed.",
    404: "There is no such thing for this key.",
    409: "Not now: it has to end first.",
    413: "The body is too large.",
    415: "The body's type or encoding is not one that the server reads.",
    426: "WebSocket is switched off.",
    429: "A limit was hit.",
    500: "The server or the model failed.",
    503: "There is no capacity at the moment.",
}


_building: Final = Lock()


def document() -> bytes:
    """The document as JSON. It takes most of a second to build, once in a process: who else asks then waits for it."""
    with _building:
        return _built()


@cache
def _built() -> bytes:
    return encode(build())


def build() -> Json:
    """The document."""
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
        "info": {
            "title": "Antiphon",
            "version": VERSION,
            "summary": "A multi-tenant server for the Open Responses API",
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This server"}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": _paths(CALLS),
        "components": {
            "schemas": components(),
            "headers": _HEADERS,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A tenant's key: `Authorization: Bearer <key>`.",
                }
            },
        },
    }


_HEADERS: Final = {
    "X-Request-ID": {
        "description": "Finds this request in the server's log.",
        "schema": {"type": "string"},
        "required": True,
    },
    "Retry-After": {
        "description": "How many seconds to wait before asking again.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 31 * 86400},
    },
    "WWW-Authenticate": {
        "description": "How to authenticate.",
        "schema": {"type": "string", "const": "Bearer"},
        "required": True,
    },
}


def _paths(calls: Iterable[Call]) -> Json:
    paths: dict[str, Json] = defaultdict(dict)
    for call in calls:
        paths[call.path][call.method] = _operation(call)
    return dict(paths)


def _operation(call: Call) -> Json:
    operation: Json = {
        "operationId": call.name,
        "tags": [call.tag],
        "summary": call.summary,
        "description": call.description,
    }
    if call.parameters:
        operation["parameters"] = [_parameter(parameter) for parameter in call.parameters]
    if call.body is not None:
        operation["requestBody"] = _body(call)
    operation["responses"] = {
        **{str(answer.status): _answer(answer) for answer in call.answers},
        **_errors(call.refusals),
    }
    if call.scope is None:
        operation["security"] = []
    else:
        operation["description"] += f"\n\nThe key needs the scope `{call.scope}`."
    return {**operation, **call.extra}


def _parameter(parameter: Parameter) -> Json:
    shown: Json = {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "required": parameter.place == "path",
        "schema": parameter.schema,
    }
    if parameter.example is not None:
        shown["example"] = parameter.example
    return shown


_BODIES: Final = {
    JSON: "JSON; compressed by gzip or zstd where `Content-Encoding` says so.",
    FORM: "A form, as browsers send it; not compressed.",
}


def _body(call: Call) -> Json:
    content: Json = {"schema": ref(call.body)}
    if call.body_examples:
        content["examples"] = {name: {"value": value} for name, value in call.body_examples.items()}
    return {
        "required": True,
        "description": _BODIES[call.body_media],
        "content": {call.body_media: content},
    }


def _answer(answer: Answer) -> Json:
    headers = {**_header("X-Request-ID"), **_described(answer.headers)}
    shown: Json = {"description": answer.description, "headers": headers}
    if answer.content:
        shown["content"] = {media: _content(answer, shape) for media, shape in answer.content.items()}
    return shown


def _described(headers: Mapping[str, str]) -> Json:
    return {name: {"description": text, "schema": {"type": "string"}} for name, text in headers.items()}


def _content(answer: Answer, shape: Any) -> Json:
    if shape is str:
        return {"schema": {"type": "string"}}
    if shape is bytes:
        return {"schema": {"type": "string", "format": "binary"}}
    if shape is dict:
        return {"schema": {"type": "object"}}
    example = {"example": EXAMPLES[shape]} if answer.status == 200 else {}
    return {"schema": ref(shape), **example}


def _errors(refusals: Iterable[Refusal]) -> Json:
    by_status = sorted(refusals, key=attrgetter("status"))
    return {
        str(status): _error(status, [*group]) for status, group in groupby(by_status, attrgetter("status"))
    }


def _error(status: int, refusals: list[Refusal]) -> Json:
    headers = _header("X-Request-ID")
    if status == 401:
        headers |= _header("WWW-Authenticate")
    if any(refusal.example.retry_after is not None for refusal in refusals):
        headers |= _header("Retry-After")
    if status == 429:
        headers |= _described(RATE_HEADERS)
    examples = {
        refusal.name: {"summary": refusal.when, "value": refusal.example.body()} for refusal in refusals
    }
    return {
        "description": _STATUS_WORDS[status],
        "headers": headers,
        "content": {JSON: {"schema": ref(answers.Error), "examples": examples}},
    }


def _header(name: str) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"}}
