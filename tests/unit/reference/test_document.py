"""The OpenAPI document is valid, whole, and says of itself what is so."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from responses_api.http.reference.calls import CALLS
from responses_api.http.reference.document import VERSION, build, document
from responses_api.http.reference.refusals import EVERY
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.sse import decode

REF = "#/components/schemas/"
DOCUMENT = build()
SCHEMAS = DOCUMENT["components"]["schemas"]


def values(of: Any) -> Iterator[Any]:
    """Everything inside a value, itself included."""
    yield of
    for inner in of.values() if isinstance(of, dict) else of if isinstance(of, list) else ():
        yield from values(inner)


def operations() -> Iterator[Json]:
    for path in DOCUMENT["paths"].values():
        yield from (entry for entry in path.values() if "operationId" in entry)


def test_it_is_a_valid_openapi_3_1_document() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()
    assert DOCUMENT["openapi"].startswith("3.1.")
    assert decode(document()) == DOCUMENT


def test_its_version_is_the_projects() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION


def test_every_component_is_used_and_every_reference_leads_to_one() -> None:
    used = {
        value.removeprefix(REF)
        for value in values(DOCUMENT)
        if isinstance(value, str) and value.startswith(REF)
    }
    assert used == set(SCHEMAS)


def test_every_component_says_what_it_is_for_or_is_a_union() -> None:
    assert [
        name for name, schema in SCHEMAS.items() if "properties" in schema and "description" not in schema
    ] == []
    assert [name for name in SCHEMAS if name.startswith("_")] == []


def test_every_field_of_a_create_request_is_there_with_its_meaning() -> None:
    fields = SCHEMAS["CreateResponseBody"]["properties"]
    # No fields of the body: an item at the end of the input says `compacts`, the client or its key `leaves_out_tools`,
    # and `secrets` come off the tools.
    own = {"compacts", "leaves_out_tools", "secrets", "backend_options"}
    known = {*CreateRequest.__dataclass_fields__} - own
    assert known | {"antiphon:backend_options"} <= set(fields)
    assert [name for name, schema in fields.items() if "description" not in schema] == []


def test_every_pattern_means_the_same_to_everybody() -> None:
    patterns = {
        value["pattern"] for value in values(SCHEMAS) if isinstance(value, dict) and "pattern" in value
    }
    assert patterns
    for pattern in patterns:
        assert "(?i" not in pattern
        jsonschema_rs.Draft202012Validator({"pattern": pattern})  # ECMA 262


def test_every_example_fits_its_schema() -> None:
    seen = 0
    for operation in operations():
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for media in [media for body in bodies for media in body.get("content", {}).values()]:
            validator = jsonschema_rs.Draft202012Validator(
                {**media["schema"], "components": DOCUMENT["components"]}
            )
            given = [entry["value"] for entry in media.get("examples", {}).values()]
            for example in [*given, *([media["example"]] if "example" in media else [])]:
                seen += 1
                validator.validate(example)
    assert seen > len(CALLS)


def test_every_call_that_needs_a_key_can_refuse_it_and_no_other() -> None:
    for call in CALLS:
        assert call.needs_key == (401 in {refusal.status for refusal in call.refusals}), call.name
        assert call.needs_key == call.path.startswith("/v1/"), call.name


def test_names_are_given_once() -> None:
    assert (
        len({call.name for call in CALLS}) == len({(call.method, call.path) for call in CALLS}) == len(CALLS)
    )
    assert len({refusal.name for refusal in EVERY if refusal.example.code is None}) == len(
        [refusal for refusal in EVERY if refusal.example.code is None]
    )


@pytest.mark.parametrize("refusal", EVERY, ids=lambda refusal: refusal.name)
def test_errors_have_a_type_that_goes_with_their_status(refusal: Any) -> None:
    fitting = {
        "invalid_request": {400, 401, 403, 404, 405, 409, 413, 415, 426},
        "not_found": {404},
        "too_many_requests": {429},
        "server_error": {500, 503},
        "model_error": {500},
    }
    assert refusal.status in fitting[refusal.example.type]
