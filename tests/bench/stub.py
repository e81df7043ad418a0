"""A stub upstream that speaks the wire formats of all backends as fast as one asyncio process can.

Run it with `python -m tests.bench.stub --port N`. The model name picks the answer (see
`scripts.SCRIPTS`). `GET /healthz` tells that it is up. Any other path or model gets a 404, so a client that
calls something else is seen at once.
"""

import argparse
import asyncio
import gc
import re

import orjson

from tests.bench.scripts import DELTAS, SCRIPTS, Script
from tests.bench.wires import WIRES, at_once

PATHS = {
    "chat_completions": re.compile(rb"POST \S*/chat/completions "),
    "responses": re.compile(rb"POST \S*/responses "),
    "anthropic": re.compile(rb"POST \S*/messages "),
    "gemini": re.compile(rb"POST \S*/models/([\w-]+):streamGenerateContent\?alt=sse "),
}
"""By the kind of backend; Gemini alone names the model there."""
ANSWERS: dict[str, dict[str, Script]] = {
    "chat_completions": SCRIPTS,
    **{kind: {"bench-stream0": at_once(kind, "bench-stream0", DELTAS)} for kind in WIRES},
}
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED_REQUEST = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


def json_answer(status: bytes, body: bytes) -> bytes:
    """A whole HTTP response with a JSON body."""
    head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (
        status,
        len(body),
    )
    return head + body


def refusal(status: bytes, message: str) -> bytes:
    """An error in the upstream's own shape."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return json_answer(status, orjson.dumps({"error": error}))


class StubConnection(asyncio.Protocol):
    """One keep-alive connection: a request is answered before the next one is read."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop a stream whose reader has left."""
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Collect bytes until a whole request is there."""
        self._received += data
        if self._timer is None:
            self._serve_received()

    def _serve_received(self) -> None:
        """Answer the request at the front of the buffer, if it is whole."""
        head_end = self._received.find(b"\r\n\r\n")
        if head_end < 0:
            return
        head = self._received[:head_end]
        if CHUNKED_REQUEST.search(head):
            self._transport.write(
                refusal(b"411 Length Required", "The stub reads bodies with a content-length only.")
            )
            self._transport.close()
            return
        length = CONTENT_LENGTH.search(head)
        end = head_end + 4 + (int(length[1]) if length else 0)
        if len(self._received) < end:
            return
        body, self._received = self._received[head_end + 4 : end], self._received[end:]
        self._answer(head[: head.find(b"\r\n")], body)

    def _answer(self, request_line: bytes, body: bytes) -> None:
        if request_line.startswith(b"GET /healthz "):
            self._transport.write(json_answer(b"200 OK", b"{}"))
            return
        kind, path = next(
            ((kind, m) for kind, path in PATHS.items() if (m := path.match(request_line))), ("", None)
        )
        if path is None:
            line = request_line.decode("latin-1")
            self._transport.write(refusal(b"404 Not Found", f"The stub does not serve '{line}'."))
            return
        try:
            asked = orjson.loads(body)
            script = ANSWERS[kind][path[1].decode() if kind == "gemini" else asked["model"]]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            self._transport.write(refusal(b"404 Not Found", "The stub does not know this model."))
            return
        if kind != "gemini" and not asked.get("stream"):
            self._transport.write(json_answer(b"200 OK", script.body))
            return
        self._start_stream(script)

    def _start_stream(self, script: Script) -> None:
        self._transport.write(STREAM_HEAD + script.chunks[0])
        if len(script.chunks) > 1:
            self._schedule(script, 1, self._loop.time() + script.spacing)

    def _schedule(self, script: Script, index: int, due: float) -> None:
        """Plan one chunk at an absolute time, so that a late chunk does not delay those after it."""
        self._timer = self._loop.call_at(due, self._send, script, index, due)

    def _send(self, script: Script, index: int, due: float) -> None:
        self._transport.write(script.chunks[index])
        if index + 1 < len(script.chunks):
            self._schedule(script, index + 1, due + script.spacing)
            return
        self._timer = None
        self._serve_received()


async def serve(port: int) -> None:
    """Listen on loopback until the process is ended."""
    server = await asyncio.get_running_loop().create_server(StubConnection, "127.0.0.1", port, backlog=2048)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Command line entry."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    gc.freeze()
    gc.disable()  # nothing here makes cycles; a collection would show up as a latency spike of the target
    try:
        asyncio.run(serve(port))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
