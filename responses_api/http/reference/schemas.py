"""The components of the reference, generated from the protocol's types.

Requests come from the very types that validate them; their components end in `Param` (or `Body`), because an item as
it is sent has another shape than the same item as it is answered. Answers and events come from `protocol.published`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from responses_api.protocol.files import LONGEST_SECONDS, PURPOSES, SHORTEST_SECONDS
from responses_api.protocol.plain import Json
from responses_api.protocol.published import answers, events, response, usage
from responses_api.protocol.request_body import COMPACTED, COUNTED, CreateResponseBody

REF: Final = "#/components/schemas/"
COUNT_BODY: Final = "CountTokensBody"
COMPACT_BODY: Final = "CompactBody"
MESSAGE_BODY: Final = "ResponseCreateMessageBody"
UPLOAD_BODY: Final = "UploadFileBody"

_REQUESTS: Final[tuple[Any, ...]] = (CreateResponseBody,)
_ANSWERS: Final[tuple[Any, ...]] = (
    response.Response,
    answers.ResponseList,
    answers.ItemList,
    answers.DeletedResponse,
    answers.TokenCount,
    answers.CompactedWindow,
    answers.File,
    answers.FileList,
    answers.DeletedFile,
    answers.Model,
    answers.ModelList,
    usage.UsageReport,
    usage.LimitList,
    answers.Health,
    answers.Readiness,
    answers.Error,
    events.ResponseStreamEvent,
    events.EventStream,
    events.WebSocketError,
)

_OF_HTTP: Final = frozenset({"stream", "stream_options"})
"""What says nothing over WebSocket, and is ignored there."""


_UPLOAD: Final[Json] = {
    "title": UPLOAD_BODY,
    "description": "A form with a file. Other fields are ignored.",
    "type": "object",
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "contentMediaType": "application/octet-stream",
            "minLength": 1,
            "description": "The file, with its name.",
        },
        "purpose": {
            "type": "string",
            "enum": list(PURPOSES),
            "description": "What it is for: `vision` for images, whose text is not read.",
        },
        "expires_after[anchor]": {
            "type": "string",
            "const": "created_at",
            "description": "From when on `expires_after[seconds]` counts.",
        },
        "expires_after[seconds]": {
            "type": "integer",
            "minimum": SHORTEST_SECONDS,
            "maximum": LONGEST_SECONDS,
            "description": "After how many seconds it is deleted. Left out: it is kept until somebody deletes it.",
        },
    },
    "required": ["file", "purpose"],
    "dependentRequired": {
        "expires_after[seconds]": ["expires_after[anchor]"],
        "expires_after[anchor]": ["expires_after[seconds]"],
    },
}


class _Plainly(GenerateJsonSchema):
    """Without the titles that only repeat the fields' names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False


def components() -> Json:
    """Every named schema, by name."""
    requests = _named(_REQUESTS, _request_name)
    create = requests[CreateResponseBody.__name__]
    requests |= {
        COUNT_BODY: _counted(create),
        COMPACT_BODY: _compacted(create),
        MESSAGE_BODY: _over_websocket(create),
        UPLOAD_BODY: _UPLOAD,
    }
    return dict(sorted({**requests, **_named(_ANSWERS, str)}.items()))


def ref(shape: Any) -> Json:
    """A reference to the component of a type, or of a name."""
    name = shape if isinstance(shape, str) else shape.__name__
    return {"$ref": REF + (_request_name(name) if shape in _REQUESTS else name)}


def _counted(create: Json) -> Json:
    """The body of a request to count tokens: the fields of a create request that a model reads."""
    return {
        **create,
        "title": COUNT_BODY,
        "description": "A request whose input tokens are to be counted. Other fields of a create request are ignored.",
        "properties": {name: create["properties"][name] for name in COUNTED},
    }


def _compacted(create: Json) -> Json:
    """The body of a request to compact."""
    return {
        **create,
        "title": COMPACT_BODY,
        "description": "What is to be compacted. Other fields of a create request are ignored.",
        "properties": {name: create["properties"][name] for name in COMPACTED},
    }


def _over_websocket(create: Json) -> Json:
    """The message that asks for a response over WebSocket."""
    properties = {name: schema for name, schema in create["properties"].items() if name not in _OF_HTTP}
    return {
        **create,
        "title": MESSAGE_BODY,
        "description": "What a response is asked with over WebSocket. It always comes as events.",
        "properties": {
            "type": {"type": "string", "const": "response.create"},
            **properties,
            "background": {
                "anyOf": [{"type": "boolean", "const": False}, {"type": "null"}],
                "description": "Not over WebSocket.",
            },
            "generate": {
                "anyOf": [{"type": "boolean"}, {"type": "null"}],
                "description": "`false`: answer without output, for what continues it. Then `input` may be empty.",
            },
            "stream_id": {"type": "null", "description": "A connection has one response at a time."},
        },
        "required": ["type", *create["required"]],
    }


def _request_name(name: str) -> str:
    return name if name.endswith("Body") else f"{name}Param"


def _named(shapes: Sequence[Any], rename: Callable[[str], str]) -> Json:
    inputs: Any = [(shape.__name__, "validation", TypeAdapter(shape)) for shape in shapes]
    roots, document = TypeAdapter.json_schemas(
        inputs, ref_template=REF + "{model}", schema_generator=_Plainly
    )
    schemas = _reachable(roots.values(), document["$defs"])
    return {rename(name): _titled(rename(name), _renamed(schema, rename)) for name, schema in schemas.items()}


def _reachable(roots: Iterable[Json], definitions: Json) -> Json:
    """The definitions that the roots refer to, directly or not: branches that only refuse have left theirs behind."""
    found: set[str] = set()
    pending = [*roots]
    while pending:
        for name in _references(pending.pop()) - found:
            found.add(name)
            pending.append(definitions[name])
    return {name: schema for name, schema in definitions.items() if name in found}


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return {name for entry in value for name in _references(entry)}
    return {value.removeprefix(REF)} if isinstance(value, str) and value.startswith(REF) else set()


def _titled(name: str, schema: Json) -> Json:
    """Viewers show the title where a union has several objects."""
    return {**schema, "title": name}


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    """The same schema with its references renamed, those of a discriminator's mapping included."""
    if isinstance(value, dict):
        return {key: _renamed(entry, rename) for key, entry in value.items()}
    if isinstance(value, list):
        return [_renamed(entry, rename) for entry in value]
    if isinstance(value, str) and value.startswith(REF):
        return REF + rename(value.removeprefix(REF))
    return value
