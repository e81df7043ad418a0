"""What lets the service in at servers that a request names: taken off its tools as soon as it was read.

Everything else of a request is echoed, stored, remembered and passed from process to process; this is none of it. It
travels beside it, sealed (`services.tool_secrets`), and is opened only by the worker that connects.
"""

from collections.abc import Mapping
from typing import Final

from responses_api.protocol.plain import Json

HEADERS: Final = "headers"
AUTHORIZATION: Final = "authorization"
QUERY: Final = "query"
_TAKEN_OFF: Final = (HEADERS, AUTHORIZATION, QUERY)
_LABEL: Final = "server_label"

Secrets = Mapping[str, Json]
"""By the label of a server, which is unique in a request: `headers` (an object), `authorization` (text or null) and
`query`, what its address has behind '?' (text or null).
"""


def without_secrets(tools: list[Json]) -> tuple[list[Json], dict[str, Json]]:
    """Canonical tools as everybody may see them, and what was taken off them."""
    secrets = {
        tool[_LABEL]: {
            HEADERS: tool.get(HEADERS) or {},
            AUTHORIZATION: tool.get(AUTHORIZATION),
            QUERY: tool.get(QUERY),
        }
        for tool in tools
        if tool["type"] == "mcp" and any(tool.get(name) for name in _TAKEN_OFF)
    }
    if not secrets:
        return tools, {}
    return [_bare(tool) for tool in tools], secrets


def by_place(secrets: Secrets, tools: list[Json]) -> dict[int, Json]:
    """The same, by the place of each server's tool in `tools`."""
    return {
        place: secrets[tool[_LABEL]]
        for place, tool in enumerate(tools)
        if tool["type"] == "mcp" and tool[_LABEL] in secrets
    }


def _bare(tool: Json) -> Json:
    if tool["type"] != "mcp":
        return tool
    return {name: value for name, value in tool.items() if name not in _TAKEN_OFF}
