"""Computing beside the event loop, where there is so much of it that others would wait."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def off_loop_if(is_large: bool, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function`, which computes only, in a thread if it has much to do: others wait for the event loop."""
    if is_large:
        return await asyncio.to_thread(function, *args, **kwargs)
    return function(*args, **kwargs)
