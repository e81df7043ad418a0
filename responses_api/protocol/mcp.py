"""The tool that stands for an MCP server: as clients send it, its canonical form, and how a choice names it.

What gets a client in at the server (`headers`, `authorization`, what its address has behind a '?') is no part of the
canonical form: see `secrets`.
OpenAI's API reference: "MCP tool".
"""

from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import AfterValidator, ConfigDict, Field, Tag, WithJsonSchema, with_config
from typing_extensions import TypedDict

from responses_api.protocol.mcp_headers import is_header_name, is_header_value, is_own_header
from responses_api.protocol.plain import Json
from responses_api.protocol.secrets import AUTHORIZATION, HEADERS, QUERY
from responses_api.protocol.server_urls import UrlError, read_url
from responses_api.protocol.validation import LIST, STRING, TAG, branch, refusal, unsupported

MOST_NAMES: Final = 512
MOST_HEADERS: Final = 32
LONGEST_HEADER: Final = 8192
LONGEST_HEADERS: Final = 32_768
LONGEST_NAME: Final = 256

_OBJECT: Final = TAG + "object"

_Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
_Names = Annotated[list[_Name], Field(max_length=MOST_NAMES)]


def _check_url(url: str) -> str:
    try:
        read_url(url)
    except UrlError as error:
        raise refusal(str(error)) from None
    return url


def _check_headers(headers: dict[str, Any]) -> dict[str, Any]:
    """Bounds and form. What is wrong is named by the header's name at most, for a value may be a secret."""
    if len(headers) > MOST_HEADERS:
        raise refusal(f"must have at most {MOST_HEADERS} headers")
    if len({name.lower() for name in headers}) < len(headers):
        raise refusal("must not have a header twice: their names have no case")
    for name, value in headers.items():
        if len(name) > LONGEST_NAME or not is_header_name(name):
            raise refusal("must have names of headers as keys: letters, digits and '-'")
        if not isinstance(value, str):
            raise refusal("must be an object of strings", code="invalid_type")
        if len(value) > LONGEST_HEADER or not is_header_value(value):
            raise refusal(
                f"must have values of 1 to {LONGEST_HEADER} visible ASCII characters, spaces inside"
            )
        if is_own_header(name):
            raise refusal(f"must not have '{name.lower()}', which the service sets by itself")
    if sum(len(name) + len(value) for name, value in headers.items()) > LONGEST_HEADERS:
        raise refusal(f"must have at most {LONGEST_HEADERS} characters in all")
    return headers


def _check_authorization(token: str) -> str:
    if not is_header_value(token):
        raise refusal("must have visible ASCII characters only, spaces inside")
    return token


def _refuse_connector(value: Any) -> None:
    if value is not None:
        raise unsupported(
            "is not offered by this server, which has no connectors: name the server by 'server_url'"
        )


def _refuse_deferred(value: bool | None) -> bool | None:
    if value:
        raise unsupported(
            "must be false or left out: this server has no tool search, all tools are offered at once"
        )
    return value


@with_config(ConfigDict(extra="forbid"))
class ToolFilter(TypedDict):
    """Some of a server's tools: by their names, or those that it says only read."""

    tool_names: NotRequired[_Names | None]
    read_only: NotRequired[bool | None]


@with_config(ConfigDict(extra="forbid"))
class ApprovalFilter(TypedDict):
    """Which tools are always run at once, and which only once the client has approved the call."""

    always: NotRequired[ToolFilter | None]
    never: NotRequired[ToolFilter | None]


def _list_or_object(value: Any) -> str | None:
    return LIST if isinstance(value, list) else _OBJECT if isinstance(value, dict) else None


def _string_or_object(value: Any) -> str | None:
    return STRING if isinstance(value, str) else _OBJECT if isinstance(value, dict) else None


_AllowedTools = Annotated[
    Annotated[_Names, Tag(LIST)] | Annotated[ToolFilter, Tag(_OBJECT)],
    branch(_list_or_object, "must be a list of names, or an object with 'tool_names' or 'read_only'"),
]
_RequireApproval = Annotated[
    Annotated[Literal["always", "never"], Tag(STRING)] | Annotated[ApprovalFilter, Tag(_OBJECT)],
    branch(_string_or_object, "must be 'always', 'never' or an object with 'always' and 'never'"),
]
_Headers = Annotated[
    dict[str, Any],
    AfterValidator(_check_headers),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"type": "string", "maxLength": LONGEST_HEADER},
            "maxProperties": MOST_HEADERS,
        }
    ),
]
ServerLabel = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]


# A field that the service does not know might be one that says what may not be done.
@with_config(ConfigDict(extra="forbid"))
class McpTool(TypedDict):
    """All tools of an MCP server, which the service calls by itself."""

    type: Literal["mcp"]
    server_label: ServerLabel
    connector_id: NotRequired[
        Annotated[Any, AfterValidator(_refuse_connector), WithJsonSchema({"type": "null"})]
    ]
    server_url: Annotated[str, AfterValidator(_check_url)]
    server_description: NotRequired[Annotated[str, Field(max_length=4096)] | None]
    allowed_tools: NotRequired[_AllowedTools | None]
    require_approval: NotRequired[_RequireApproval | None]
    headers: NotRequired[_Headers | None]
    authorization: NotRequired[
        Annotated[str, Field(min_length=1, max_length=LONGEST_HEADER), AfterValidator(_check_authorization)]
        | None
    ]
    defer_loading: NotRequired[Annotated[bool | None, AfterValidator(_refuse_deferred)]]


def canonical_mcp(tool: Json) -> Json:
    """Every field that says what is offered; beside them, where they were sent, those that `secrets` takes off."""
    headers = tool.get(HEADERS) or {}
    if tool.get(AUTHORIZATION) and any(name.lower() == "authorization" for name in headers):
        raise refusal("must be left out where 'headers' has an 'authorization' of its own", at=AUTHORIZATION)
    url, _, query = tool["server_url"].partition("?")
    return {
        "type": "mcp",
        "server_label": tool["server_label"],
        "server_url": url,
        "server_description": tool.get("server_description"),
        "allowed_tools": _canonical_allowed(tool.get("allowed_tools")),
        "require_approval": _canonical_approval(tool.get("require_approval")),
        **{name: tool[name] for name in (HEADERS, AUTHORIZATION) if tool.get(name)},
        **({QUERY: query} if query else {}),
    }


def _canonical_allowed(given: list[str] | Json | None) -> list[str] | Json | None:
    """A list of names, null for all tools, or a filter where it is of more than names."""
    if not isinstance(given, dict):
        return given
    kept = _filter(given)
    return kept["tool_names"] if [*kept] == ["tool_names"] else kept or None


def _canonical_approval(given: str | Json | None) -> str | Json:
    """`always` unless given; of the object the sides that say something."""
    if given is None or isinstance(given, str):
        return given or "always"
    sides = {side: _filter(given.get(side) or {}) for side in ("always", "never")}
    return {side: kept for side, kept in sides.items() if kept} or "always"


def _filter(given: Json) -> Json:
    """A filter's fields as far as they say something."""
    return {name: given[name] for name in ("tool_names", "read_only") if given.get(name) is not None}


class McpChoice(TypedDict):
    """A tool of exactly this server, or exactly this one of its tools."""

    type: Literal["mcp"]
    server_label: Annotated[str, Field(min_length=1, max_length=64)]
    name: NotRequired[_Name | None]


def canonical_choice(choice: Json) -> Json:
    """The choice without a name that is null."""
    named = {"name": choice["name"]} if choice.get("name") is not None else {}
    return {"type": "mcp", "server_label": choice["server_label"], **named}
