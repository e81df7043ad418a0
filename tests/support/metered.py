"""An upstream with a meter: it answers with as many words as it is asked for, tells what it has used with each, and
writes down what it really sent.

The last message says what to do: `<number> <mode> <words>`. Modes: `ok`; `slow`, a word every 50 ms; `refuse`, a 500;
`cut`, the connection ends in the middle of the answer.
"""

import asyncio
import threading
from collections import defaultdict
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.support.chat import Json, frame

WORD = "word "
_SLOW_SECONDS = 0.05


@dataclass(slots=True)
class Delivery:
    """What went out for one request: tokens read, words written, and whether the answer came to its end. Written down
    before it is sent: what was received never is more.
    """

    read: int
    written: int = 0
    is_whole: bool = False


class MeteredUpstream:
    """The server, in a thread of its own."""

    def __init__(self) -> None:
        self.deliveries: dict[int, list[Delivery]] = defaultdict(list)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    @property
    def base_url(self) -> str:
        """What a backend's base URL is set to."""
        return f"http://127.0.0.1:{self._port}/v1"

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        application = web.Application()
        application.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=2048)
        await site.start()
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._stopped.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        number, mode, words = body["messages"][-1]["content"].split()
        if mode == "refuse":
            return web.json_response({"error": {"message": "no"}}, status=500)
        delivery = Delivery(read=read_of(int(number)))
        self.deliveries[int(number)].append(delivery)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        asked = min(int(words), body.get("max_tokens", 10**6))
        for _ in range(asked // 2 if mode == "cut" else asked):
            delivery.written += 1
            await response.write(frame(_chunk(delivery, delta={"content": WORD})))
            await asyncio.sleep(_SLOW_SECONDS if mode == "slow" else 0)
        if mode == "cut":
            assert request.transport is not None
            request.transport.close()
            return response
        finish = "stop" if asked == int(words) else "length"
        delivery.is_whole = True
        await response.write(frame(_chunk(delivery, delta={}, finish=finish)) + b"data: [DONE]\n\n")
        return response


def read_of(number: int) -> int:
    """How many tokens the request of this number is said to have had."""
    return 120 + number % 101


def _chunk(delivery: Delivery, *, delta: Json, finish: str | None = None) -> Any:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "metered",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": delivery.read,
            "completion_tokens": delivery.written,
            "total_tokens": delivery.read + delivery.written,
        },
    }
