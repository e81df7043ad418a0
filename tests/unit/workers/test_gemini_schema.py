"""JSON Schemas in the words that Gemini takes: the same values pass, or more where the table in the module says so."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from workers.backends.gemini.schema import answer_schema, parameters_schema

PARAM = "text.format.schema"
NODE: Json = {
    "$defs": {
        "Node": {
            "type": "object",
            "description": "A node.",
            "properties": {
                "value": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["value", "children"],
        }
    },
    "$ref": "#/$defs/Node",
}


def told(schema: Json) -> Json:
    return answer_schema(schema, PARAM)


def passes(schema: Json, value: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (
            {"type": "object", "additionalProperties": False},
            {"type": "object", "additionalProperties": False},
        ),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"type": "number", "const": 3}, {"type": "integer", "enum": [3]}),
        ({"const": None}, {"type": "null"}),
        ({"const": True}, {"type": "boolean", "description": "Always true."}),
        (
            {"const": ["a"], "description": "A list."},
            {"type": "array", "items": {}, "description": 'A list. Always ["a"].'},
        ),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}),
        ({"enum": ["a", None]}, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        ({"enum": [True, False]}, {"type": "boolean"}),
        ({"enum": [None]}, {"type": "null"}),
        ({"enum": [1, True]}, {"anyOf": [{"enum": [1]}, {"type": "boolean"}]}),
        ({"type": ["string"]}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        (
            {"type": ["array", "string", "null"], "items": {"const": 1}, "minLength": 2, "title": "T"},
            {
                "title": "T",
                "anyOf": [
                    {"type": "array", "items": {"type": "integer", "enum": [1]}},
                    {"type": "string", "minLength": 2},
                    {"type": "null"},
                ],
            },
        ),
        ({"type": "array"}, {"type": "array", "items": {}}),
        (
            {"type": "array", "items": [{"type": "string"}, True]},
            {"type": "array", "prefixItems": [{"type": "string"}, {}]},
        ),
        (
            {"type": "object", "required": ["a"]},
            {"type": "object", "required": ["a"], "properties": {"a": {}}},
        ),
        (
            {"oneOf": [{"const": "a"}, {"type": "null"}]},
            {"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        ({"$schema": "x", "$id": "y", "$comment": "z", "type": "string"}, {"type": "string"}),
        (
            {"type": "string", "pattern": "^a", "format": "uuid"},
            {"type": "string", "pattern": "^a", "format": "uuid"},
        ),
        (
            {"properties": {"$ref": {"type": "string"}, "const": True}},
            {"properties": {"$ref": {"type": "string"}, "const": {}}},
        ),
        (
            {"default": {"$ref": "#/x"}, "examples": [{"const": 1}]},
            {"default": {"$ref": "#/x"}, "examples": [{"const": 1}]},
        ),
        (
            {"additionalProperties": {"const": "a"}},
            {"additionalProperties": {"type": "string", "enum": ["a"]}},
        ),
    ],
)
def test_what_gemini_would_refuse_is_put_into_other_words(schema: Json, words: Json) -> None:
    before = json.dumps(schema)
    assert told(schema) == words
    assert json.dumps(schema) == before, "the request's own schema stays as it was"


@pytest.mark.parametrize(
    "ref",
    [
        "#/$defs/Pet",
        "#/definitions/Pet",
        "#/properties/first",
        "#/properties/a~1b",
        "#/properties/a%7E1b",
        "#/oneOf/0",
    ],
)
def test_references_are_put_in_with_what_stands_beside_them(ref: str) -> None:
    pet = {"type": "object", "description": "A pet.", "properties": {"name": {"type": "string"}}}
    schema = {
        "$defs": {"Pet": pet},
        "definitions": {"Pet": pet},
        "oneOf": [pet],
        "properties": {"first": pet, "a/b": pet, "second": {"$ref": ref, "description": "Yours."}},
    }
    assert told(schema)["properties"]["second"] == {**pet, "description": "Yours."}
    assert "$defs" not in json.dumps(told(schema))


def test_demands_on_the_same_thing_are_one_schema() -> None:
    schema = {
        "$defs": {"Named": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}},
        "allOf": [
            {"$ref": "#/$defs/Named"},
            {"properties": {"a": {"minLength": 2}, "b": {"type": "integer"}}, "required": ["a", "b"]},
        ],
        "description": "Both.",
    }
    assert told(schema) == {
        "type": "object",
        "description": "Both.",
        "properties": {"a": {"type": "string", "minLength": 2}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }


@pytest.mark.parametrize(
    "ref", ["#/$defs/None", "https://example.com/s", "other", "#anchor", "#/$defs", 3, "#/type"]
)
def test_a_reference_that_leads_nowhere_is_refused(ref: Any) -> None:
    schema = {"type": "object", "$defs": {"A": {}}, "properties": {"a": {"$ref": ref}}}
    if ref == "#/$defs":
        assert told(schema)  # an object like any other, though hardly meant
        return
    with pytest.raises(ProtocolError) as caught:
        told(schema)
    assert (caught.value.status, caught.value.param, caught.value.code) == (400, PARAM, "unsupported_value")


def test_a_schema_within_itself_is_put_in_three_times() -> None:
    words = told(NODE)
    assert "$ref" not in json.dumps(words)
    level, depth = words, 0
    while "properties" in level:
        assert level["required"] == ["value", "children"]
        level, depth = level["properties"]["children"]["items"], depth + 1
    assert (depth, level) == (3, {"type": "object", "description": "A node."})
    leaf: Json = {"value": "a", "children": []}
    for _ in range(6):
        leaf = {"value": "b", "children": [leaf]}
        assert passes(words, leaf)
    assert not passes(words, {"value": "b", "children": [{"value": 1}]})


@pytest.mark.parametrize(
    "target", [{"$ref": "#/$defs/A"}, {"allOf": [{"$ref": "#/$defs/A"}]}, {"$ref": "#/$defs/B"}]
)
def test_a_reference_that_only_goes_round_says_nothing(target: Json) -> None:
    assert told({"$defs": {"A": target, "B": {"$ref": "#/$defs/A"}}, "$ref": "#/$defs/A"}) == {}


def test_what_multiplies_is_put_in_less_often_and_at_last_refused() -> None:
    def tree(width: int) -> Json:
        branches = {f"b{n}": {"$ref": "#/$defs/T"} for n in range(width)}
        return {"$defs": {"T": {"type": "object", "properties": branches}}, "$ref": "#/$defs/T"}

    assert len(json.dumps(told(tree(10)))) < 500_000
    shallow = told(tree(60))
    assert shallow["properties"]["b0"]["properties"]["b0"] == {"type": "object"}
    doubling = {f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(40)}
    with pytest.raises(ProtocolError, match="too large"):
        told({"$defs": {**doubling, "D40": {"type": "string"}}, "$ref": "#/$defs/D0"})


def test_parameters_are_an_object_or_nothing() -> None:
    assert parameters_schema(None, "p") is None
    assert parameters_schema({"properties": {}}, "p") is None
    assert parameters_schema({"type": "object"}, "p") == {"type": "object"}
    assert parameters_schema({"anyOf": [{"required": ["a"]}]}, "p") == {
        "type": "object",
        "anyOf": [{"required": ["a"], "properties": {"a": {}}}],
    }
    assert parameters_schema({"type": ["object", "null"], "properties": {"a": {}}}, "p") == {
        "type": "object",
        "properties": {"a": {}},
    }
    with pytest.raises(ProtocolError) as caught:
        parameters_schema({"type": "string"}, "tools[0].parameters")
    assert caught.value.param == "tools[0].parameters"


# ---------------------------------------------------------------- any schema, any value

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "ab"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=6,
)
leaves = st.one_of(
    st.just({}),
    st.just(True),
    st.fixed_dictionaries({"const": values}),
    st.fixed_dictionaries({"enum": st.lists(values, min_size=1, max_size=3)}),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["string", "integer", "boolean", "null", "array", ["string", "null"], ["string", "array"]]
            )
        },
        optional={"minLength": st.just(1), "maximum": st.just(2), "minItems": st.just(1)},
    ),
    st.sampled_from([{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B", "description": "x"}]),
)
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2)},
            optional={
                "type": st.just("object"),
                "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
                "additionalProperties": st.booleans() | inner,
            },
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"prefixItems": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
    ),
    max_leaves=6,
)


@given(schema=schemas, a=schemas, b=leaves, value=values)
def test_whatever_a_schema_lets_pass_passes_what_is_sent(schema: Any, a: Any, b: Any, value: Any) -> None:
    """Also where it refers to itself; nothing that is sent refers to anything."""
    root: Json = {"$defs": {"A": a, "B": b}, "properties": {"x": schema}, "items": schema}
    try:
        words = told(root)
        lets_pass = passes(root, value)
    except (RecursionError, ProtocolError):
        return  # a circle for the judge as well, or a tree that is too large
    assert "$ref" not in json.dumps(words)
    assert not lets_pass or passes(words, value)
