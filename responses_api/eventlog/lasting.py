"""Tasks that live as long as their process: one that fails says so and begins again."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Final

import structlog

log = structlog.get_logger(__name__)

_PAUSE_SECONDS: Final = 1.0


def run_for_ever(name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> "asyncio.Task[None]":
    """Run `work` until the task is cancelled, again and again should it end.

    It runs in a context of its own: the ids of the request that happened to start it are not its.
    """
    return asyncio.get_running_loop().create_task(
        _again_and_again(name, work), name=name, context=contextvars.Context()
    )


async def _again_and_again(name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    while True:
        try:
            await work()
        except Exception:
            log.exception("a task failed and begins again", task=name)
        await asyncio.sleep(_PAUSE_SECONDS)
