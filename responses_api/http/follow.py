"""`GET /v1/responses/{id}?stream=true`: the stream of a stored response, from any event on. Leaving cancels nothing."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qs

import structlog

from responses_api.http.relay import Exchange, answered, caller_of, relay
from responses_api.protocol.errors import invalid_request
from responses_api.services.access import Scope
from responses_api.services.following import Place, follow

SCOPE: Final[Scope] = "responses:read"
_PATH: Final = re.compile(r"/v1/responses/([^/]+)/?")
_TRUE: Final = frozenset({"true", "1"})
_FALSE: Final = frozenset({"false", "0", ""})
_MOST_DIGITS: Final = 9


def follows(scope: Any) -> bool:
    """Whether a request is for the stream of a response."""
    if scope["method"] != "GET" or b"stream" not in scope["query_string"]:
        return False
    return _PATH.fullmatch(scope["path"]) is not None and _flag(_query(scope), "stream") is not False


class FollowEndpoint:
    """The ASGI application of the call."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        await answered(Exchange(scope, send), partial(self._answer, scope, receive))

    async def _answer(self, scope: Any, receive: Any, exchange: Exchange) -> None:
        path = _PATH.fullmatch(scope["path"])
        assert path is not None, "the router knows the path"
        with await caller_of(exchange, SCOPE) as stay:
            ear = await follow(stay.principal.tenant_id, path[1], _place(_query(scope)))
            structlog.contextvars.bind_contextvars(response_id=path[1])
            await relay(exchange, stay, ear, receive, stream=True)


def _query(scope: Any) -> dict[str, str]:
    """The parameters of the query, the last of each name."""
    given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return {name: values[-1] for name, values in given.items()}


def _place(query: dict[str, str]) -> Place:
    truth(query, "stream")
    if "include_obfuscation" not in query:
        return Place(_starting_after(query))
    return Place(_starting_after(query), truth(query, "include_obfuscation"))


def truth(query: Mapping[str, str], name: str) -> bool:
    """The parameter, False where it is not there. Raises `ProtocolError` 400 for what is neither true nor false."""
    flag = _flag(query, name)
    if flag is None:
        raise invalid_request(f"`{name}` must be true or false.", param=name)
    return flag


def _flag(query: Mapping[str, str], name: str) -> bool | None:
    """The parameter as a truth, False where it is not there; None for what is none."""
    text = query.get(name, "").lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _starting_after(query: dict[str, str]) -> int | None:
    text = query.get("starting_after")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise invalid_request(
            "`starting_after` must be the sequence_number of an event, a whole number from 0 on.",
            param="starting_after",
        )
    return int(text)
