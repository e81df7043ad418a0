"""Tools and the choice among them, and answers that are held to a JSON Schema.

Models are held to a schema by the format itself. An older Claude is made to call a tool that takes the answer: what
it calls that tool with is told as its answer.
"""

from collections.abc import Sequence
from typing import Any, Final

from responses_api.protocol.plain import Json
from workers.backends.anthropic.models import Model
from workers.backends.refusals import other_choice, other_tool, unsupported

_CHOICES: Final = {"auto": "auto", "required": "any", "none": "none"}
FORCED: Final = frozenset({"any", "tool"})
"""The choices that leave a model no other way than to call."""
_ANSWER: Final = "final_answer"
_ANSWER_TASK: Final = "Give your answer to the user by calling this."
_NO_PARAMETERS: Final[Json] = {"type": "object", "properties": {}}


def tools(request: Json, model: Model) -> Json:
    """The fields of the body that are about tools and the form of the answer.

    Raises `ProtocolError` 400 for what the format cannot carry.
    """
    offered = [_tool(tool, index, model) for index, tool in enumerate(request["tools"])]
    choice = _choice(request["tool_choice"])
    if choice["type"] in FORCED and model.always_thinks:
        raise unsupported(
            "This model cannot be made to call: 'tool_choice' must be 'auto' or 'none'.", "tool_choice"
        )
    schema = _schema(request["text"]["format"])
    body: Json = {}
    if schema is not None and model.holds_to_schemas:
        body["output_config"] = {"format": {"type": "json_schema", "schema": _closed(schema)}}
    elif (name := answer_tool(request, model)) is not None and schema is not None:
        offered, choice = _with_answer(offered, choice, name, schema)
    if offered:
        if not request["parallel_tool_calls"] and choice["type"] != "none":
            choice["disable_parallel_tool_use"] = True
        body |= {"tools": offered, "tool_choice": choice}
    return body


def answer_tool(request: Json, model: Model) -> str | None:
    """The name of the tool that takes the answer, where there is one: no function has that name.

    Where a function must be called there is no answer that could have a form.
    """
    if request["text"]["format"]["type"] != "json_schema" or model.holds_to_schemas:
        return None
    if _choice(request["tool_choice"])["type"] in FORCED:
        return None
    names = {tool["name"] for tool in request["tools"] if tool["type"] == "function"}
    name = _ANSWER
    while name in names:
        name += "_"
    return name


def _with_answer(offered: list[Json], choice: Json, name: str, schema: Json) -> tuple[list[Json], Json]:
    if schema.get("type") != "object":
        raise unsupported(
            "'text.format.schema' must have the type 'object' for this model's backend.", "text.format.schema"
        )
    answer = {"name": name, "description": _ANSWER_TASK, "input_schema": schema}
    if offered and choice["type"] != "none":
        return [*offered, answer], {"type": "any"}
    return [answer], {"type": "tool", "name": name}


def _tool(tool: Json, index: int, model: Model) -> Json:
    if tool["type"] != "function":
        raise other_tool(tool, f"tools[{index}]")
    told: Json = {"name": tool["name"], "input_schema": _parameters(tool["parameters"], index)}
    if tool["description"]:
        told["description"] = tool["description"]
    if tool["strict"] and model.holds_calls_to_schemas:
        told |= {"strict": True, "input_schema": _closed(told["input_schema"])}
    return told


def _parameters(parameters: Json | None, index: int) -> Json:
    """A schema of an object, which is all that the format knows."""
    kind = (parameters or {}).get("type", "object")
    if isinstance(kind, list) and "object" in kind:
        kind = "object"
    if kind != "object":
        raise unsupported(
            f"'tools[{index}].parameters' must be a schema of the type 'object' for this model's backend.",
            f"tools[{index}].parameters",
        )
    return {**_NO_PARAMETERS, **(parameters or {}), "type": "object"}


def _choice(choice: str | Json) -> Json:
    if isinstance(choice, str):
        return {"type": _CHOICES[choice]}
    if choice["type"] == "allowed_tools":
        # The upstream sees every tool, so that its prompt cache stays warm; what it calls is checked on its way out,
        # by `protocol.admission`.
        return {"type": _CHOICES[choice["mode"]]}
    if choice["type"] == "function":
        return {"type": "tool", "name": choice["name"]}
    raise other_choice(choice)


def _schema(form: Json) -> Json | None:
    if form["type"] == "json_object":
        raise unsupported(
            "'text.format' of type 'json_object' is not supported by this model's backend: use 'json_schema'.",
            "text.format.type",
        )
    return form["schema"] if form["type"] == "json_schema" else None


def _closed(schema: Any) -> Any:
    """The schema with every object closed, as the format demands. Whatever fits it fits the one that was given."""
    if isinstance(schema, list):
        return [_closed(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed_below(name, entry) for name, entry in schema.items()}
    if _COMBINED & closed.keys():
        return closed
    kind = closed.get("type")
    is_object = kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in closed
    return (
        {**closed, "additionalProperties": closed.get("additionalProperties", False)} if is_object else closed
    )


def _closed_below(name: str, entry: Any) -> Any:
    if name in _SCHEMAS_BY_NAME and isinstance(entry, dict):
        return {key: _closed(inner) for key, inner in entry.items()}
    return _closed(entry) if name in _SCHEMAS else entry


# What a closed object would not admit beside its own properties. Nor are the parts of `allOf` closed: two closed
# objects have no value in common.
_COMBINED: Final = frozenset({"anyOf", "oneOf", "allOf", "$ref"})
_SCHEMAS: Final = frozenset({"items", "prefixItems", "anyOf", "oneOf", "additionalProperties"})
_SCHEMAS_BY_NAME: Final = frozenset({"properties", "$defs", "definitions"})


def mark(blocks: Sequence[Json]) -> None:
    """Ask for everything up to the last of these blocks to be cached."""
    if blocks:
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
