"""A request on a connection that was kept, which its server may be closing at that very moment.

Such a server has answered nothing, and most likely read nothing: the request is sent anew, once. On a connection of its
own a request that is not answered stays so, for a server may be at work on it.
"""

from types import SimpleNamespace
from typing import Any

import aiohttp


def tracing() -> aiohttp.TraceConfig:
    """What lets a session tell `post` that it took a connection that was kept."""
    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(_note)
    return config


async def post(
    session: aiohttp.ClientSession, url: str, *, again: bool, **request: Any
) -> aiohttp.ClientResponse:
    """As `session.post`, sent anew where that may help and `again` allows it. Raises what that raises."""
    taken = SimpleNamespace(is_reused=False)
    try:
        return await session.post(url, trace_request_ctx=taken, **request)
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
        if not (again and taken.is_reused):
            raise
    return await session.post(url, **request)


async def _note(session: aiohttp.ClientSession, context: Any, params: Any) -> None:
    # The context of a request that nobody asks about has none.
    if context.trace_request_ctx is not None:
        context.trace_request_ctx.is_reused = True
