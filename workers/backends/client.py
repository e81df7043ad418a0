"""The one place that talks HTTP to model backends."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from http import HTTPStatus
from types import TracebackType
from typing import TypeVar
from urllib.parse import urlsplit

import aiohttp

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.backend_options import added, with_defaults
from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.reading import MANY_ITEMS
from responses_api.protocol.sse import decode, encode
from workers.backends import reuse
from workers.backends.answer import AnswerStream
from workers.backends.counting import UPSTREAM_COUNTERS
from workers.backends.credentials import FROM_ENVIRONMENT, Finder
from workers.backends.errors import from_exception, from_status
from workers.backends.parts import Part
from workers.backends.pausing import resumed
from workers.backends.registry import Adapter, adapter_of
from workers.backends.watch import Watch
from workers.backends.withholding import as_shown

_T = TypeVar("_T")

_REFUSED = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
_ANSWER_LIMIT = 64 * 1024 * 1024
_ERROR_LIMIT = 64 * 1024
_COUNTING_SECONDS = 10.0
# Below the 5 s after which uvicorn, and so vLLM, drops an idle connection: a request must not race with that.
_KEEP_ALIVE_SECONDS = 4.0
_DNS_CACHE_SECONDS = 60
# How long the end of the HTTP body may lag behind the end of the answer, to keep the connection.
_LINGER_SECONDS = 0.1


class UpstreamClient:
    """Calls backends; one for each process, used in one event loop.

    `secret` finds the credential of a backend. Use it as `async with`.
    """

    def __init__(self, *, secret: Finder = FROM_ENVIRONMENT) -> None:
        self._secret = secret
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "UpstreamClient":
        connector = aiohttp.TCPConnector(
            limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS, ttl_dns_cache=_DNS_CACHE_SECONDS
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # Compressed event streams come in bursts.
            headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(total=None),
            trace_configs=[reuse.tracing()],
        )
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def stream(self, job: Job) -> AsyncGenerator[list[Part], None]:
        """The answer to a job, as lists of parts; the first list is empty and says that the backend accepted.

        Raises `ProtocolError` for whatever goes wrong, after the parts before it. The connection is closed at
        once when the task is cancelled or the iterator is closed: use `contextlib.aclosing` around it.
        """
        call = _Call(self._opened(), job, self._secret)
        try:
            stream = await call.connect()
            yield []
            goes_on = True
            while goes_on:
                while not stream.finished and (chunk := await call.read()):
                    if parts := stream.feed(chunk):
                        yield parts
                yield stream.close()
                await call.read_to_end()
                goes_on = await call.resume(stream)
        except (aiohttp.ClientError, OSError) as failure:
            raise from_exception(failure).because(repr(failure)) from failure
        finally:
            call.hang_up()

    async def count(self, job: Job) -> int:
        """The tokens of a job's input, counted by its backend; its `token_counting` names an `UpstreamCounter`.

        Raises `ProtocolError`: 400 for what the format cannot carry, `model_error` when there is no count.
        """
        call = _Call(self._opened(), job, self._secret)
        try:
            return await call.count()
        except (aiohttp.ClientError, OSError, ValueError) as failure:
            raise from_exception(failure).because(repr(failure)) from failure
        finally:
            call.hang_up()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("the client is not open: use it as an async context manager")
        return self._session


class _Call:
    """One call from connect to the end of its answer, and the times it must keep."""

    def __init__(self, session: aiohttp.ClientSession, job: Job, secret: Finder) -> None:
        self._session = session
        self._job = job
        self._spec = BackendSpec.from_plain(job.backend)
        self._secret = secret
        self._key: str | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._watch: Watch | None = None
        self._size = 0
        self._asked: Json = {}
        self._loop = asyncio.get_running_loop()
        self._ends_at = self._loop.time() + self._spec.total_timeout
        self._first_byte_by = self._by(self._spec.connect_timeout + self._spec.first_byte_timeout)

    async def connect(self) -> AnswerStream:
        """Send the request; returns when the backend accepted it. Raises what it refused it with."""
        adapter = adapter_of(self._spec)
        self._asked = await self._made(lambda: self._body(adapter))
        shorter = await self._made(lambda: adapter.shorten(self._job, self._asked))
        await self._ask(adapter, shorter)
        return as_shown(adapter.open_stream(self._job), self._spec)

    async def resume(self, stream: AnswerStream) -> bool:
        """After an answer was closed: ask for the rest of it, if the backend only paused. Raises as `connect` does."""
        body = resumed(stream, self._asked)
        if body is None:
            return False
        self.hang_up()
        self._asked, self._size = body, 0
        self._first_byte_by = self._by(self._spec.connect_timeout + self._spec.first_byte_timeout)
        await self._ask(adapter_of(self._spec))
        return True

    async def _ask(self, adapter: Adapter, shorter: Json | None = None) -> None:
        url = self._spec.base_url.rstrip("/") + adapter.path(self._job)
        response = await self._post(url, adapter, await self._made(lambda: encode(shorter or self._asked)))
        if shorter is not None and response.status in _REFUSED:
            # The backend does not know any more what it would have needed beside this.
            response.close()
            response = await self._post(url, adapter, await self._made(lambda: encode(self._asked)))
        if not 200 <= response.status < 300:
            raise await self._refusal(response)
        self._watch = Watch(self._loop, response.content)

    def _body(self, adapter: Adapter) -> Json:
        """The body of the request, with the fields of the backend's own that the client has set, or its row for all."""
        body = added(adapter.build(self._job), self._job.request.get("backend_options") or {})
        return with_defaults(body, self._spec.default_options)

    async def count(self) -> int:
        """Ask the backend to count. An answer that is no count is a `model_error`, whatever its status."""
        adapter, counter = adapter_of(self._spec), UPSTREAM_COUNTERS[self._spec.token_counting]
        body = await self._made(
            lambda: encode(counter.body(adapter.build(self._job), self._job.upstream_model))
        )
        self._first_byte_by = self._ends_at = self._by(_COUNTING_SECONDS)
        url = counter.url(self._spec.base_url.rstrip("/"), self._job.upstream_model)
        response = await self._post(url, adapter, body)
        self._watch = Watch(self._loop, response.content)
        answer = bytearray()
        while chunk := await self.read():
            answer += chunk
        if response.status != HTTPStatus.OK:
            refused = model_error("The model's backend did not count the tokens.")
            raise refused.after_status(response.status)
        return counter.count_in(await self._made(lambda: decode(bytes(answer))))

    async def _post(self, url: str, adapter: Adapter, body: bytes) -> aiohttp.ClientResponse:
        self._key = await self._secret(self._spec)
        async with asyncio.timeout_at(self._first_byte_by):
            self._response = await reuse.post(
                self._session,
                url,
                # Where another target can be asked, that is the second try.
                again=not self._job.targets,
                data=body,
                headers={**adapter.headers, **(adapter.auth(self._key) if self._key else {})},
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._spec.connect_timeout),
            )
        return self._response

    async def _made(self, make: Callable[[], _T]) -> _T:
        """What `make` makes, beside the event loop for a long context: all other answers wait on that."""
        if len(self._job.history) + len(self._job.input_items) > MANY_ITEMS:
            return await asyncio.to_thread(make)
        return make()

    async def read(self) -> bytes:
        """The next bytes of the answer; b"" at its end. Raises TimeoutError when they are late."""
        assert self._watch is not None, "read before connect"
        # The time that our caller takes between two reads is not the backend's.
        self._watch.expect(self._by(self._spec.idle_timeout) if self._size else self._first_byte_by)
        chunk = await self._next_bytes()
        self._watch.relax()
        self._size += len(chunk)
        if self._size > _ANSWER_LIMIT:
            raise model_error("The backend's answer is too long.")
        return chunk

    async def _next_bytes(self) -> bytes:
        content = self._content()
        try:
            return await content.readany()
        except (aiohttp.ClientError, OSError):
            # The connection was lost right behind its last bytes. They were said; the next read tells of the loss.
            if not content._buffer:
                raise
            return content._read_nowait(-1)

    async def read_to_end(self) -> None:
        """Take what follows the answer, so that the connection can serve again; not worth waiting for."""
        content = self._content()
        with contextlib.suppress(TimeoutError, aiohttp.ClientError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while await content.readany():
                    pass

    def hang_up(self) -> None:
        """Give the connection back when the answer was read to its end, else close it at once."""
        if self._watch is not None:
            self._watch.stop()
        if self._response is None:
            return
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()

    def _by(self, seconds: float) -> float:
        return min(self._loop.time() + seconds, self._ends_at)

    def _content(self) -> aiohttp.StreamReader:
        assert self._response is not None, "read before connect"
        return self._response.content

    async def _refusal(self, response: aiohttp.ClientResponse) -> ProtocolError:
        """The error in an answer, from its status alone when its body does not come."""
        body = bytearray()
        with contextlib.suppress(TimeoutError, aiohttp.ClientError):
            async with asyncio.timeout_at(self._first_byte_by):
                while len(body) < _ERROR_LIMIT and (chunk := await response.content.readany()):
                    body += chunk
        address = urlsplit(self._spec.base_url)
        secrets = [self._key or "", address.netloc]
        error = from_status(
            response.status,
            response.headers,
            bytes(body[:_ERROR_LIMIT]),
            secrets=secrets,
            host=address.hostname or "",
        )
        return error.after_status(response.status)
