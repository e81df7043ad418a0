"""`POST /v1/responses`, `…/compact` and `…/input_tokens`: JSON or SSE, relayed from the event log.

A client that leaves cancels what it waits for.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, Protocol

import structlog

from responses_api.http.body import is_large, parse_json, read_body
from responses_api.http.relay import Exchange, answered, caller_of, relay
from responses_api.protocol.clients import leaves_out_tools
from responses_api.protocol.dialects import dialect_of
from responses_api.protocol.job import Purpose
from responses_api.protocol.request import CreateRequest, parse_compact, parse_count, parse_create
from responses_api.services.access import Scope
from responses_api.services.create import Started, create
from responses_api.services.offload import off_loop_if
from responses_api.services.once import HEADER, checked_key, create_once
from responses_api.services.pinning import pin_in
from responses_api.services.presence import Stay
from tenants.keys import Principal

SCOPE: Final[Scope] = "responses:write"
_ONCE: Final = HEADER.lower().encode()


class _Parser(Protocol):
    def __call__(self, body: Any, *, leave_out_tools: bool) -> CreateRequest: ...


_PARSERS: Final[dict[Purpose, _Parser]] = {
    "respond": parse_create,
    "count_tokens": parse_count,
    "compact": parse_compact,
}


class CreateEndpoint:
    """The ASGI application of a call that a worker answers."""

    def __init__(self, purpose: Purpose = "respond") -> None:
        self._purpose = purpose
        self._read_request = _PARSERS[purpose]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        await answered(Exchange(scope, send), partial(self._answer, receive))

    async def _answer(self, receive: Any, exchange: Exchange) -> None:
        with await caller_of(exchange, SCOPE) as stay:
            await self._answer_to(stay, receive, exchange)

    async def _answer_to(self, stay: Stay, receive: Any, exchange: Exchange) -> None:
        principal = stay.principal
        body = await read_body(exchange.headers, receive)
        leave_out = leaves_out_tools(exchange.headers, principal.unserved_tools)
        request = await off_loop_if(
            is_large(exchange.headers, body), self._parse, exchange.headers, body, leave_out
        )
        stay.check()  # a body may take its time
        started = await self._start(exchange, principal, request)
        exchange.more_headers = started.headers
        structlog.contextvars.bind_contextvars(response_id=started.response_id)
        await relay(exchange, stay, started.listener, receive, stream=request.stream)

    async def _start(self, exchange: Exchange, principal: Principal, request: CreateRequest) -> Started:
        dialect = dialect_of(exchange.headers, principal.dialect)
        backend = pin_in(exchange.headers, principal)
        given = exchange.headers.get(_ONCE)
        if given is None or self._purpose != "respond":
            return await create(
                principal=principal,
                request=request,
                dialect=dialect,
                request_id=exchange.request_id,
                purpose=self._purpose,
                backend=backend,
            )
        return await create_once(
            key=checked_key(given.decode("latin-1")),
            principal=principal,
            request=request,
            dialect=dialect,
            request_id=exchange.request_id,
            backend=backend,
        )

    def _parse(self, headers: Mapping[bytes, bytes], body: bytes, leave_out_tools: bool) -> CreateRequest:
        return self._read_request(parse_json(headers, body), leave_out_tools=leave_out_tools)
