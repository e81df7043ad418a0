"""Receipts of tools that the service runs, as blocks of a readable conversation: what was called, by what right, and
what came of it. Pure. Types are taken in either spelling.
"""

from collections.abc import Callable, Iterable
from typing import Final

from responses_api.admin.blocks import Block, Part, id_of, notes, told
from responses_api.admin.shown import cut, pretty
from responses_api.protocol import server_tools as tools
from responses_api.protocol.plain import Json
from responses_api.protocol.receipts import REFUSED_BY


def receipt(item: Json) -> Callable[[Json], Block] | None:
    """What shows an item of this type; None for one that is no receipt."""
    return _RECEIPTS.get(tools.canonical_type(str(item.get("type"))))


def _list_tools(item: Json) -> Block:
    listed = [Part("text", cut(tool.get("description") or ""), tool["name"]) for tool in item["tools"]]
    title = f"Tools of the MCP server {item['server_label']}"
    parts = (*_error(item), *listed) or (Part("note", "None."),)
    return Block(title, "tool", parts, notes(item), id_of(item))


def _call(item: Json) -> Block:
    title = f"Calls {item['name']} of the MCP server {item['server_label']}"
    parts = [told(item["arguments"] or "", "Arguments"), *_refusal(item), *_error(item)]
    if item.get("output") is not None:
        parts.append(told(item["output"], "Output"))
    words = notes(item, **{"approved by the answer to": item.get("approval_request_id")})
    return Block(title, "tool", tuple(parts), words, id_of(item))


def _approval_request(item: Json) -> Block:
    title = f"Asks to call {item['name']} of the MCP server {item['server_label']}"
    return Block(title, "tool", (told(item["arguments"] or "", "Arguments"),), notes(item), id_of(item))


def _approval_response(item: Json) -> Block:
    verdict = "Approves the call" if item["approve"] else "Denies the call"
    asked = Part("note", f"Answers {item['approval_request_id']}.")
    reason = [Part("text", cut(item["reason"]), "Reason")] if item.get("reason") else []
    return Block(verdict, "user", (asked, *reason), notes(item), id_of(item))


def _file_search(item: Json) -> Block:
    queries = [Part("text", cut(query), "Query") for query in item["queries"]]
    found = [_result(result) for result in item.get("results") or ()]
    nothing = [] if found or item.get("error") else [Part("note", "Nothing was found.")]
    return Block(
        "Searches files", "tool", (*queries, *_error(item), *found, *nothing), notes(item), id_of(item)
    )


def _result(result: Json) -> Part:
    score = result.get("score")
    label = (
        f"{result['filename']}, score {score:.3f}" if isinstance(score, int | float) else result["filename"]
    )
    where = ", ".join(f"{name} {value}" for name, value in (result.get("attributes") or {}).items() if value)
    return Part("text", cut(result["text"]), f"{label} ({where})" if where else label)


def _refusal(item: Json) -> Iterable[Part]:
    """Which rule refused the call."""
    verdict = item.get(REFUSED_BY)
    if verdict:
        yield Part("code", pretty(verdict), "Refused by")


def _error(item: Json) -> Iterable[Part]:
    error = item.get("error")
    if error is not None:
        yield (
            Part("text", cut(error), "Error")
            if isinstance(error, str)
            else Part("code", pretty(error), "Error")
        )


_RECEIPTS: Final[dict[str, Callable[[Json], Block]]] = {
    tools.MCP_LIST_TOOLS: _list_tools,
    tools.MCP_CALL: _call,
    tools.MCP_APPROVAL_REQUEST: _approval_request,
    tools.MCP_APPROVAL_RESPONSE: _approval_response,
    tools.FILE_SEARCH_CALL: _file_search,
}
