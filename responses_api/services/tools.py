"""What a request asks of the tools that the service runs by itself, checked before anything is stored or queued.

No server is connected to here, and nothing is run. Policies are looked at where the request is refused for them
(`protocol.admission`), and again when a call is made.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from responses_api.protocol.approvals import check_approvals, used
from responses_api.protocol.egress import EgressError, check_url
from responses_api.protocol.errors import invalid_request
from responses_api.protocol.given_receipts import receipt_type
from responses_api.protocol.hosted import Declaration
from responses_api.protocol.plain import Json
from responses_api.protocol.replay import check_receipts
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.server_tools import FILE_SEARCH, MCP, MCP_APPROVAL_RESPONSE
from responses_api.protocol.validation import to_protocol_error
from responses_api.services import egress, file_search
from responses_api.services.approvals import claimed
from responses_api.services.database import in_database
from responses_api.services.hosted import declarations, is_served

MOST_SERVED: Final = 64
"""How many tools that the service runs one request may have: each may be a server that is connected to."""


def with_checked_tools(request: CreateRequest) -> CreateRequest:
    """The request with the entries of hosted tools in their canonical form.

    Raises `ProtocolError` 400 naming the field: an entry that its tool does not take, an address of an MCP server that
    may not be reached as it is written, more tools than may be. Where a name leads is seen when it is connected to.
    """
    if all(tool["type"] == "function" for tool in request.tools):
        return request
    _check_number(request.tools)
    _check_servers(request.tools)
    return replace(request, tools=[_canonical(tool, index) for index, tool in enumerate(request.tools)])


async def check_tools_said(
    history: Sequence[Json], given: Sequence[Json], tools: Sequence[Json], tenant_id: UUID
) -> None:
    """Check what the request says of tools that the service runs: files that can be searched, receipts that make sense,
    and answers to approval requests that are open and were not used.

    Raises `ProtocolError` 400 naming the field of the tool or of the item.
    """
    for index, tool in enumerate(tools):
        if tool["type"] == FILE_SEARCH:
            await in_database(file_search.check, tool, tenant_id, f"tools[{index}]")
    check_receipts(given, declarations())
    if not any(receipt_type(item) == MCP_APPROVAL_RESPONSE for item in given):
        return
    to_run = check_approvals([*history, *given], len(history), tools)
    if not to_run:
        return
    before = await in_database(claimed, tenant_id, [answer.key for answer in to_run])
    for answer in to_run:
        if answer.key in before:
            raise used(answer, len(history))


def _check_number(tools: Sequence[Json]) -> None:
    served = sum(is_served(tool["type"]) for tool in tools)
    if served > MOST_SERVED:
        raise invalid_request(
            f"'tools' may have at most {MOST_SERVED} tools that the service runs (MCP servers and hosted tools), not"
            f" {served}.",
            param="tools",
            code="invalid_value",
        )


def _check_servers(tools: Sequence[Json]) -> None:
    rules = egress.rules()
    for index, tool in enumerate(tools):
        if tool["type"] != MCP:
            continue
        try:
            check_url(tool["server_url"], rules)
        except EgressError as error:
            param = f"tools[{index}].server_url"
            raise invalid_request(f"'{param}' {error}.", param=param, code="invalid_value") from None


def _canonical(tool: Json, index: int) -> Json:
    declaration = declarations().get(tool["type"])
    if declaration is None:
        return tool
    try:
        entry: Json = _adapter(declaration).validate_python(tool, strict=True)
    except ValidationError as failure:
        raise to_protocol_error(failure, at=f"tools[{index}]") from None
    return entry


@cache
def _adapter(declaration: Declaration) -> TypeAdapter[Any]:
    return TypeAdapter(declaration.entry)
