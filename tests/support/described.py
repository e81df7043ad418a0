"""The service's own `/openapi.json` as a judge of what it sends: nothing that is not described, nothing missing.

Unlike for a client, for whom new fields are no fault, every object here has the described fields and no others.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs

from responses_api.http.reference.document import build
from tests.support.client import DONE, Answer, Json, datas

_REF = "#/components/schemas/"


@cache
def described() -> Json:
    """The document, its answers without room for further fields."""
    document = build()
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        if not name.endswith(("Param", "Body")) and "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return document


def faults(name: str, value: Any) -> Iterator[str]:
    """What is wrong with a value by the component of this name."""
    for error in _validator(name).iter_errors(value):
        yield f"{error.instance_path}: {error.message}"


def event_faults(event: Json) -> Iterator[str]:
    """What is wrong with a streaming event."""
    mapping = described()["components"]["schemas"]["ResponseStreamEvent"]["discriminator"]["mapping"]
    if _is_step_of_an_added_tool(event["type"]):
        if event.keys() != {"type", "sequence_number", "item_id", "output_index"}:
            yield f"{event['type']} tells more, or less, than that a call has come to a step"
        return
    if event["type"] not in mapping:
        yield f"{event['type']} is not an event of the reference"
        return
    yield from faults(mapping[event["type"]].removeprefix(_REF), event)


def _is_step_of_an_added_tool(kind: str) -> bool:
    """Whether an event has a vendor's prefix: hosted tools that somebody added tell steps of their own."""
    return ":" in kind and not kind.startswith("antiphon:")


def assert_described(method: str, path: str, answer: Answer) -> None:
    """An answer is one that the reference has for this call."""
    operations = next((operations for address, operations in _addresses() if address.fullmatch(path)), None)
    where = f"{method} {path}: {answer.status} {answer.body[:2000]!r}"
    if operations is None or (operation := operations.get(_asked(method))) is None:
        assert answer.status in (400, 401, 404, 405), where
        assert not [*faults("Error", answer.json())], where
        return
    assert str(answer.status) in operation["responses"], where
    _assert_fits(operation["responses"][str(answer.status)], answer, where)


def _asked(method: str) -> str:
    return "get" if method == "HEAD" else method.lower()


def _assert_fits(response: Json, answer: Answer, where: str) -> None:
    for name, header in response.get("headers", {}).items():
        required = "$ref" in header and described()["components"]["headers"][name].get("required", False)
        assert not required or name.lower() in answer.headers, f"no {name}: {where}"
    if not answer.body:
        return
    media = answer.headers["content-type"].partition(";")[0]
    assert media in response["content"], f"{media}: {where}"
    if media == "text/event-stream":
        events = [json.loads(data) for data in datas(answer.body) if data != DONE]
        found = [fault for event in events for fault in event_faults(event)]
    elif media == "application/json" and "$ref" in (schema := response["content"][media]["schema"]):
        found = [*faults(schema["$ref"].removeprefix(_REF), answer.json())]
    else:
        found = []
    assert not found, f"{found}: {where}"


@cache
def _addresses() -> list[tuple[re.Pattern[str], Json]]:
    """The described addresses, those without parameters first, as the URL configuration has them."""
    paths = sorted(described()["paths"].items(), key=lambda entry: entry[0].count("{"))
    return [(_address(path), operations) for path, operations in paths]


def _address(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", path)
    wildcard = {"model": "[^?]+?"}
    pieces = [
        re.escape(part) if at % 2 == 0 else wildcard.get(part, "[^/?]+") for at, part in enumerate(parts)
    ]
    return re.compile("".join(pieces) + r"/?(\?.*)?")


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        {"$ref": _REF + name, "components": described()["components"]}, validate_formats=True
    )
