"""Which of a model's targets can serve a request: what one of them cannot do, another one may."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.backend_options import place_of
from responses_api.protocol.egress import EgressError, check_url
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.items import TYPE_RULE
from responses_api.protocol.media import addresses_in, no_addresses, not_fetched
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from responses_api.protocol.replay import has_receipts
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.server_tools import FILE_SEARCH, MCP
from responses_api.protocol.target import Target
from responses_api.protocol.tools import check_tool_choice
from responses_api.protocol.validation import is_vendor_type
from responses_api.protocol.wording import quoted
from responses_api.services.egress import rules
from responses_api.services.hosted import declarations, is_served

_FUNCTION: Final = "function"


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a target must be able to do, and what a request is refused with where none can."""

    is_met_by: Callable[[BackendSpec], bool]
    refusal: ProtocolError


def able(targets: Sequence[Target], request: CreateRequest) -> tuple[Target, ...]:
    """The targets that can serve the request, in their order; at least one.

    Raises `ProtocolError` 400 naming the first field that none of those which are left can do.
    """
    left = tuple(targets)
    for need in _needs(request, targets):
        left = tuple(target for target in left if need.is_met_by(BackendSpec.from_plain(target.backend)))
        if not left:
            raise need.refusal
    return left


def with_served_tools(request: CreateRequest, targets: Sequence[Target]) -> CreateRequest:
    """The request, where it wants that, without the tools that no target takes together with those before them.

    Raises `ProtocolError` 400 where its `tool_choice` names one of those.
    """
    if not request.leaves_out_tools or all(is_own(tool) for tool in request.tools):
        return request
    left = [BackendSpec.from_plain(target.backend) for target in targets]
    tools = []
    for tool in request.tools:
        takers = left if is_own(tool) else [spec for spec in left if spec.takes_tool(tool["type"])]
        if takers:
            left = takers
            tools.append(tool)
    check_tool_choice(request.tool_choice, tools)
    return replace(request, tools=tools)


def is_own(tool: Json) -> bool:
    """Whether a tool asks nothing more of a backend than to take functions: the client's, or what the service runs."""
    return tool["type"] == _FUNCTION or is_served(tool["type"])


def _needs(request: CreateRequest, targets: Sequence[Target]) -> Iterator[Need]:
    """What the request needs of its backend beside the model."""
    for index, tool in enumerate(request.tools):
        if not is_own(tool):
            yield _tool(tool["type"], index, targets)
    for index, item in enumerate(request.input):
        # A vendor's items are kept with any conversation; who has no place for them leaves them out.
        if (
            is_foreign(item["type"])
            and not is_vendor_type(item["type"])
            and not has_receipts((item,), declarations())
        ):
            yield _item(item["type"], index)
    if any(target.backend.get("media_urls", "sent") != "sent" for target in targets):
        for index, item in enumerate(request.input):
            yield from _media(item, index, targets)
    if request.text["format"]["type"] != "text":
        yield _form()
    for name in request.backend_options:
        yield _option(name, targets)


def _tool(kind: str, index: int, targets: Sequence[Target]) -> Need:
    others = sorted(
        {name for target in targets for name in BackendSpec.from_plain(target.backend).other_tool_types}
    )
    served = ", ".join([_FUNCTION, MCP, *sorted(declarations()), *others])
    instead = f" Files that were uploaded here '{FILE_SEARCH}' searches." if kind == "file_search" else ""
    refusal = invalid_request(
        f"Tools of the type '{quoted(kind)}' are not offered by this server for this model; it serves: {served}."
        f"{instead}",
        param=f"tools[{index}].type",
        code="unsupported_value",
    )
    return Need(lambda spec: spec.takes_tool(kind), refusal)


def _item(kind: str, index: int) -> Need:
    param = f"input[{index}].type"
    refusal = invalid_request(f"'{param}' {TYPE_RULE}.", param=param, code="unsupported_value")
    return Need(lambda spec: spec.takes_item(kind), refusal)


def _media(item: Json, index: int, targets: Sequence[Target]) -> Iterator[Need]:
    """That what it has by address is taken so; an address that no worker would connect to is fetched by none."""
    fetches = any(target.backend.get("media_urls") == "fetched" for target in targets)
    for address in addresses_in(item):
        param = address.param(index)
        taken: tuple[str, ...] = ("sent", "fetched")
        refusal = no_addresses(param)
        if fetches:
            try:
                check_url(address.value, rules())
            except EgressError as error:
                taken, refusal = ("sent",), not_fetched(param, str(error))
        yield Need(partial(_takes_address, taken, address.part_type), refusal)


def _takes_address(taken: Sequence[str], part_type: str, spec: BackendSpec) -> bool:
    """Whether its row says that the address may be one of `taken`; an image that is only noted needs none."""
    return spec.media_urls in taken or (part_type == "input_image" and spec.images == "noted")


def _form() -> Need:
    refusal = invalid_request(
        "This model's answers cannot be held to a form; ask another model, or leave 'text.format' out.",
        param="text.format",
        code="unsupported_value",
    )
    return Need(lambda spec: spec.takes_forms, refusal)


def _option(name: str, targets: Sequence[Target]) -> Need:
    allowed = sorted(
        {option for target in targets for option in BackendSpec.from_plain(target.backend).allowed_options}
    )
    refusal = invalid_request(
        f"No backend of this model takes the option '{name}' together with all else that the request asks for. The "
        f"model's backend options: {', '.join(allowed) or 'none'}.",
        param=place_of(name),
        code="unsupported_value",
    )
    return Need(lambda spec: spec.takes_option(name), refusal)
