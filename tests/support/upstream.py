"""A scripted upstream: a real HTTP server on loopback that answers with exactly the bytes a test wants.

It runs in its own thread, so sync and async tests use it alike. Scripts are queues of replies keyed by kind
of call and, if wanted, by model, so that tests which share one upstream do not disturb each other. What no
script covers is answered by the actor (`tests.support.actor`) or, without it, by a 500 that says so.

As a program it serves the actor alone: `python -m tests.support.upstream --port 8461`.
"""

import argparse
import asyncio
import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

from tests.support.actor import act, is_slow
from tests.support.chat import chat_error
from tests.support.gemini_actor import act_gemini, count_gemini
from tests.support.messages_actor import act_messages
from tests.support.responses import act_responses
from tests.support.upstream_http import Chunks, Connection, End, Reply, Request

PATHS = {
    "chat": "/chat/completions",
    "count": "/chat/completions/input_tokens",
    "tokenize": "/tokenize",
    "messages": "/messages",
    "count_messages": "/messages/count_tokens",
    "gemini": ":streamGenerateContent",
    "gemini_whole": ":generateContent",
    "gemini_count": ":countTokens",
    "responses": "/responses",
    "responses_count": "/responses/input_tokens",
}
SLOW_GAP_MS = 10

__all__ = ["PATHS", "Reply", "Request", "ScriptedUpstream"]


class ScriptedUpstream:
    """The server. `actor=True` lets unscripted requests be answered plausibly instead of refused."""

    def __init__(self, *, actor: bool = False, port: int = 0) -> None:
        self._actor = actor
        self._port = port
        self._scripts: dict[tuple[str, str | None], deque[Reply]] = defaultdict(deque)
        self._standing: dict[tuple[str, str | None], Reply] = {}
        self._requests: list[Request] = []
        self._connections: set[Connection] = set()
        self._arrived = threading.Condition()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scripted-upstream", daemon=True)
        self._failure: BaseException | None = None

    # ---- life

    def start(self) -> Self:
        """Begin to listen; raises what binding the port raised."""
        self._thread.start()
        self._ready.wait(10)
        if self._failure is not None:
            raise self._failure
        return self

    def stop(self) -> None:
        """Close the listener and every connection."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(10)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def base_url(self) -> str:
        """What a backend's base URL is set to."""
        return f"http://127.0.0.1:{self._port}/v1"

    # ---- scripts

    def reply(
        self,
        kind: str = "chat",
        *,
        model: str | None = None,
        body: bytes = b"",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        chunks: Chunks = None,
        end: End = "close",
        delay_ms: int = 0,
        gap_ms: int = 0,
        pause_at: int | None = None,
        always: bool = False,
    ) -> Reply:
        """Queue a reply to one request of this kind (and model); `always`: whenever the queue is empty."""
        reply = Reply(body, status, headers or {}, chunks, end, delay_ms, gap_ms, pause_at)
        with self._arrived:
            if always:
                self._standing[kind, model] = reply
            else:
                self._scripts[kind, model].append(reply)
        return reply

    def clear(self) -> None:
        """Forget every script and every request seen."""
        with self._arrived:
            self._scripts.clear()
            self._standing.clear()
            self._requests.clear()

    # ---- what was seen

    def requests(self, model: str | None = None) -> list[Request]:
        """The requests so far, oldest first; those for one model when it is given."""
        with self._arrived:
            return self._seen(model)

    def wait_request(self, model: str | None = None, *, count: int = 1, timeout: float = 10.0) -> Request:
        """Wait for the `count`-th request (for `model`) and return it; TimeoutError if it does not come."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self._seen(model)) >= count, timeout):
                raise TimeoutError(f"request {count} for model {model} did not arrive within {timeout} s")
            return self._seen(model)[count - 1]

    def _seen(self, model: str | None) -> list[Request]:
        return [request for request in self._requests if model is None or request.model == model]

    def _answer(self, request: Request) -> Reply:
        with self._arrived:
            self._requests.append(request)
            self._arrived.notify_all()
            return self._scripted(request) or self._unscripted(request)

    def _scripted(self, request: Request) -> Reply | None:
        path = request.path.partition("?")[0]
        kind = next((name for name, ending in PATHS.items() if path.endswith(ending)), "other")
        keys = ((kind, request.model), (kind, None))
        queued = next((self._scripts[key] for key in keys if self._scripts.get(key)), None)
        if queued is not None:
            return queued.popleft()
        return next((self._standing[key] for key in keys if key in self._standing), None)

    def _unscripted(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        act_on = next(
            (_ACTORS[kind] for kind, ending in PATHS.items() if path.endswith(ending) and kind in _ACTORS),
            None,
        )
        if self._actor and act_on is not None:
            return act_on(request.body)
        return Reply(chat_error(f"no script for {request.method} {request.path}"), 500)

    # ---- the thread

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as exc:
            self._failure = exc
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        server = await self._loop.create_server(
            lambda: Connection(self._answer, self._connections),
            "127.0.0.1",
            self._port,
            backlog=1024,
            reuse_address=True,
        )
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        server.close()
        # A peer must not take one that nobody serves any more for one that it can use again.
        await asyncio.gather(*(connection.close() for connection in self._connections))


def _acted(body: Any) -> Reply:
    reply = act(body)
    if not is_slow(body):
        return Reply(reply)
    frames = [at.end() for at in re.finditer(rb"\n\n", reply)]
    return Reply(reply, chunks=frames, gap_ms=SLOW_GAP_MS)


def _replying(act_on: Callable[[Any], tuple[int, bytes]]) -> Callable[[Any], Reply]:
    def reply(request: Any) -> Reply:
        status, body = act_on(request)
        return Reply(body, status)

    return reply


_ACTORS: dict[str, Callable[[Any], Reply]] = {
    "chat": _acted,
    "messages": _replying(act_messages),
    "gemini": _replying(partial(act_gemini, streams=True)),
    "gemini_whole": _replying(partial(act_gemini, streams=False)),
    "gemini_count": _replying(count_gemini),
    "responses": _replying(lambda body: (200, act_responses(body))),
}


def main() -> None:
    """Serve the actor until interrupted."""
    parser = argparse.ArgumentParser(description="Serve Chat Completions plausibly, without a model.")
    parser.add_argument("--port", type=int, default=8461)
    with ScriptedUpstream(actor=True, port=parser.parse_args().port) as upstream:
        print(upstream.base_url, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
