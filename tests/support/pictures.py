"""A server on loopback that has what it is given, for workers that fetch images and files by address."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PNG = b"\x89PNG\r\n\x1a\n" + bytes(24)
PDF = b"%PDF-1.7\n%%EOF\n"


@dataclass
class Gallery:
    """What is where, and what was asked for."""

    url: str
    things: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def gallery() -> Iterator[Gallery]:
    """Serve from other threads until the block ends."""
    found = Gallery("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            found.headers.append(dict(self.headers.items()))
            if self.path in found.moved:
                self.send_response(302)
                self.send_header("location", found.moved[self.path])
                self.send_header("content-length", "0")
                self.end_headers()
                return
            if self.path not in found.things:
                self.send_error(404)
                return
            media_type, content = found.things[self.path]
            self.send_response(200)
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
