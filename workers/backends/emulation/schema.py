"""The JSON Schema that holds an answer to a turn.

The branches begin with different fields, so that the model's first word decides. A schema that refers to itself
(`$ref: "#/…"`) goes below `$defs`, and its references with it: they count from the root.
"""

from collections.abc import Sequence
from typing import Any, Final

from responses_api.protocol.plain import Json
from workers.backends.emulation.reader import ALSO, ANSWER, ARGUMENTS, TOOL

MOST_AT_ONCE: Final = 16
"""The most calls in a turn where the request names no limit: a small model might never end."""

TEXT: Final[Json] = {"type": "string"}
_REF: Final = "$ref"


def turn_schema(answer: Json | None, tools: Sequence[Json], most: int) -> Json:
    """A turn that answers as the schema `answer` says (None: it may not answer) or makes 1 to `most` calls of `tools`.

    `tools` are canonical functions; without any there is only the answer.
    """
    definitions: Json = {}
    calls = [_call(tool, definitions) for tool in tools]
    branches = [] if answer is None else [_object({ANSWER: _placed(answer, "answer", definitions)})]
    branches += [_with_others(call, calls, most - 1) for call in calls]
    root = branches[0] if len(branches) == 1 else {"type": "object", "anyOf": branches}
    return {**root, "$defs": definitions} if definitions else root


def _call(tool: Json, definitions: Json) -> Json:
    parameters = tool["parameters"] or {"type": "object"}
    name = tool["name"]
    return _object(
        {
            TOOL: {"type": "string", "enum": [name]},
            ARGUMENTS: _placed(parameters, f"tool_{name}", definitions),
        }
    )


def _with_others(call: Json, calls: Sequence[Json], most: int) -> Json:
    if most < 1:
        return call
    one = calls[0] if len(calls) == 1 else {"anyOf": list(calls)}
    others = {"type": "array", "items": one, "minItems": 1, "maxItems": most}
    return {**call, "properties": {**call["properties"], ALSO: others}}


def _object(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _placed(schema: Json, name: str, definitions: Json) -> Json:
    """The schema, or a reference to where it is now."""
    moved = _moved(schema, f"#/$defs/{name}")
    if moved == schema:
        return schema
    definitions[name] = moved
    return {_REF: f"#/$defs/{name}"}


def _moved(value: Any, root: str) -> Any:
    """A schema whose references from its own root count from where that is now."""
    if isinstance(value, list):
        return [_moved(entry, root) for entry in value]
    if not isinstance(value, dict):
        return value
    moved = {name: _moved(entry, root) for name, entry in value.items()}
    target = value.get(_REF)
    if isinstance(target, str) and (target == "#" or target.startswith("#/")):
        moved[_REF] = root + target[1:]
    return moved
