"""JSON Schemas as Gemini takes them, in `parametersJsonSchema` and `responseJsonSchema`.

Both take a JSON Schema and promise to hold to a part of it. What they would refuse, or read differently, is put into
other words here; the values that a schema allows stay the same, but where the table says "wider":

| in the schema | here |
| --- | --- |
| `$ref`, `$defs`, `definitions` | put in where they are used: a `$ref` beside anything else is refused there |
| a definition within itself | put in three times, then only its type is told (wider); fewer where that is too large |
| `allOf` | one schema; where two say different things about the same, the later counts (wider) |
| `const` | `enum` of one; for true, false, lists and objects a note in the description (wider) |
| `enum` with null, true or false | `anyOf` of the types |
| `type` with several names besides null | `anyOf` of the types, each with what belongs to it |
| `items` as a list | `prefixItems` |
| arrays without `items` | of anything: `items` has to be there |
| names in `required` that no property has | a property of any kind |
| `$schema`, `$id`, `$anchor`, `$comment` | left out: nothing refers to them any more |
| everything else | as it is, for the model to read, whether or not the decoding holds to it |
"""

import json
from typing import Any, Final
from urllib.parse import unquote

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from workers.backends.refusals import unsupported

_MOST_SCHEMAS: Final = 5_000
_DEPTHS: Final = (3, 2, 1)
"""How often a definition is put in within itself; the next one is for what grows too large with the one before."""

_LEFT_OUT = frozenset(
    {"$ref", "$defs", "definitions", "$schema", "$id", "id", "$anchor", "$comment", "allOf"}
)
_ONE_SCHEMA = frozenset(
    {
        "items",
        "additionalProperties",
        "additionalItems",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_LISTS = frozenset({"anyOf", "oneOf", "prefixItems"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_OF_TYPE: dict[str, frozenset[str]] = {
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"}),
    "object": frozenset(
        {
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
        }
    ),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
}
_TYPE_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)


class _TooLarge(Exception):
    """More schemas than anybody writes: references that multiply."""


def answer_schema(schema: Json, param: str) -> Json:
    """The schema of an answer. Raises `ProtocolError` 400 naming `param` for one that cannot be put into words."""
    for depth in _DEPTHS:
        try:
            rewritten: Json = _Rewriter(schema, param, depth).rewrite(schema, ())
            return rewritten
        except _TooLarge:
            continue
        except RecursionError:
            break
    raise unsupported(
        f"The JSON Schema is too large for this model's backend once its references are put in: at most {_MOST_SCHEMAS}"
        " schemas, of few levels.",
        param,
    )


def parameters_schema(schema: Json | None, param: str) -> Json | None:
    """The schema of a function's parameters, None for a function without any. Raises as `answer_schema` does, also for
    parameters that are no object.
    """
    if not schema:
        return None
    rewritten = answer_schema(schema, param)
    kind = rewritten.get("type", "object")
    if kind != "object" and "object" not in (kind if isinstance(kind, list) else ()):
        raise unsupported(
            "The parameters of a function must be an object for this model's backend: a JSON Schema of type 'object'.",
            param,
        )
    # A function without parameters: an object without properties is refused by some models.
    return None if rewritten.get("properties") == {} else {**rewritten, "type": "object"}


class _Rewriter:
    """Puts one schema into other words, each reference within itself at most `depth` times."""

    def __init__(self, root: Json, param: str, depth: int) -> None:
        self._root = root
        self._param = param
        self._depth = depth
        self._count = 0

    def rewrite(self, value: Any, within: tuple[str, ...]) -> Any:
        """A schema and all below it; `within` are the references that it came by."""
        self._count += 1
        if self._count > _MOST_SCHEMAS:
            raise _TooLarge
        if value is True:
            return {}
        if not isinstance(value, dict):
            return value
        schema, within = self._resolved(value, within)
        told = {
            key: self._rewritten(key, inner, within) for key, inner in schema.items() if key not in _LEFT_OUT
        }
        return _in_other_words(told)

    def _rewritten(self, key: str, inner: Any, within: tuple[str, ...]) -> Any:
        if key in _MAPS and isinstance(inner, dict):
            return {name: self.rewrite(schema, within) for name, schema in inner.items()}
        if (key in _LISTS or key == "items") and isinstance(inner, list):
            return [self.rewrite(schema, within) for schema in inner]
        if key in _ONE_SCHEMA and isinstance(inner, dict):
            return self.rewrite(inner, within)
        return inner

    def _resolved(self, schema: Json, within: tuple[str, ...]) -> tuple[Json, tuple[str, ...]]:
        """The schema without `$ref` and `allOf` of its own, and the references that it came by then."""
        while "$ref" in schema:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            target, within = self._target(schema["$ref"], within)
            schema = _merged(target, rest)
        parts = schema.get("allOf")
        if not isinstance(parts, list):
            return schema, within
        whole: Json = {}
        for part in (*parts, {key: value for key, value in schema.items() if key != "allOf"}):
            if isinstance(part, dict):
                resolved, within = self._resolved(part, within)
                whole = _merged(whole, resolved)
        return whole, within

    def _target(self, ref: Any, within: tuple[str, ...]) -> tuple[Json, tuple[str, ...]]:
        target = self._found(ref)
        if within.count(ref) < self._depth:
            return target, (*within, ref)
        return {key: target[key] for key in ("type", "description") if key in target}, within

    def _found(self, ref: Any) -> Json:
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise self._unresolved(ref)
        found: Any = self._root
        for name in ref.split("/")[1:]:
            name = unquote(name).replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(name)] if isinstance(found, list) else found[name]
            except (KeyError, IndexError, TypeError, ValueError):
                raise self._unresolved(ref) from None
        if found is True:
            return {}
        if not isinstance(found, dict):
            raise self._unresolved(ref)
        return found

    def _unresolved(self, ref: Any) -> ProtocolError:
        return unsupported(
            f"The '$ref' to '{quoted(str(ref))}' leads to no schema within this one: only such references are supported"
            " by this model's backend.",
            self._param,
        )


def _merged(first: Json, second: Json) -> Json:
    """What both demand, as far as one schema can say it."""
    merged = {**first, **second}
    for key in first.keys() & second.keys():
        a, b = first[key], second[key]
        if key == "properties" and isinstance(a, dict) and isinstance(b, dict):
            merged[key] = {**a, **{name: _both(a[name], b[name]) if name in a else b[name] for name in b}}
        elif key in ("required", "allOf") and isinstance(a, list) and isinstance(b, list):
            merged[key] = [*a, *(entry for entry in b if entry not in a)]
    return merged


def _both(a: Any, b: Any) -> Any:
    return {"allOf": [a, b]} if isinstance(a, dict) and isinstance(b, dict) else b


def _in_other_words(schema: Json) -> Json:
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
    if "const" in schema:
        _tell_const(schema, schema.pop("const"))
    elif isinstance(schema.get("enum"), list):
        _tell_enum(schema)
    if isinstance(schema.get("type"), list):
        _tell_types(schema)
    if schema.get("type") == "array" and not schema.keys() & {"items", "prefixItems"}:
        schema["items"] = {}
    if isinstance(schema.get("required"), list) and schema.get("type", "object") == "object":
        _tell_required(schema)
    return schema


def _tell_const(schema: Json, value: Any) -> None:
    schema.pop("enum", None)
    schema.update(_only(value))
    if "enum" not in schema and value is not None:
        note = f"Always {json.dumps(value, ensure_ascii=False)}."
        schema["description"] = f"{schema['description']} {note}" if schema.get("description") else note


def _tell_enum(schema: Json) -> None:
    values = schema["enum"]
    if all(_is_scalar(value) for value in values):
        if values and all(isinstance(value, str) for value in values):
            schema.setdefault("type", "string")
        return
    del schema["enum"]
    schema.pop("type", None)
    branches = _branches(values)
    if len(branches) == 1:
        schema.update(branches[0])
    elif "anyOf" not in schema:
        schema["anyOf"] = branches


def _branches(values: list[Any]) -> list[Json]:
    """One schema for each type of what is listed."""
    scalars = [value for value in values if _is_scalar(value)]
    branches: list[Json] = [{"enum": scalars}] if scalars else []
    if scalars and all(isinstance(value, str) for value in scalars):
        branches[0]["type"] = "string"
    for value in values:
        branch = _only(value)
        if not _is_scalar(value) and branch not in branches:
            branches.append(branch)
    return branches


def _only(value: Any) -> Json:
    """The schema of nothing but this value, as far as it can be said."""
    if value is None:
        return {"type": "null"}
    name = next(name for kind, name in _TYPE_NAMES if isinstance(value, kind))
    return {"type": name, "enum": [value]} if _is_scalar(value) else {"type": name}


def _is_scalar(value: Any) -> bool:
    """Whether an `enum` may list it: texts and numbers, as the reference has it."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _tell_types(schema: Json) -> None:
    names = schema["type"]
    if len(names) == 1:
        schema["type"] = names[0]
    if len([name for name in names if name != "null"]) < 2 or "anyOf" in schema:
        return
    del schema["type"]
    belongings = {
        name: {key: schema[key] for key in _OF_TYPE.get(name, ()) if key in schema} for name in names
    }
    for key in {key for belonging in belongings.values() for key in belonging}:
        del schema[key]
    schema["anyOf"] = [_in_other_words({"type": name, **belongings[name]}) for name in names]


def _tell_required(schema: Json) -> None:
    properties = schema.get("properties")
    missing = [
        name for name in schema["required"] if isinstance(name, str) and name not in (properties or {})
    ]
    if missing and isinstance(properties or {}, dict):
        schema["properties"] = {**(properties or {}), **{name: {} for name in missing}}
