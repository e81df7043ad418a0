"""ORM work for the event loop: a few threads of the process, each with its own lasting connection."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
T = TypeVar("T")

_threads: Final = ThreadPoolExecutor(max_workers=8, thread_name_prefix="database")


async def in_database(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function`, which may use the ORM, beside the event loop and return what it returns."""
    return await asyncio.get_running_loop().run_in_executor(
        _threads, partial(_run, partial(function, *args, **kwargs))
    )


def _run(function: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return function()
    finally:
        close_old_connections()
