"""HTTP as the suite speaks it: every byte and every write of an answer is kept.

Specification: "HTTP Requests", "HTTP Responses".
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

from responses_api.conformance.outcomes import Broken
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode, encode

OnWrite = Callable[[bytes], Awaitable[bool]]
"""Told everything received so far after each write of the server; False leaves."""

_CONNECTIONS: Final = 100


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer. `writes` are the HTTP chunks of the body; None where the server did not send chunks."""

    request: str
    sent: bytes
    status: int
    headers: dict[str, str]
    body: bytes
    writes: list[bytes] | None

    @property
    def media_type(self) -> str:
        """The media type of `Content-Type`, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Json:
        """The JSON object in the body. Raises `Broken` where it is none."""
        try:
            found = decode(self.body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Broken(f"{self.request} answered {self.status} with a body that is no JSON object")
        return found

    @property
    def error(self) -> Json:
        """The error object of the body; empty where there is none."""
        try:
            found = decode(self.body)
        except ValueError:
            return {}
        error = found.get("error") if isinstance(found, dict) else None
        return error if isinstance(error, dict) else {}


class Wire:
    """The connections of one run."""

    def __init__(self, base_url: str, timeout: float) -> None:
        self.base_url = base_url.rstrip("/")
        self._timeout = timeout
        self.session = aiohttp.ClientSession(
            # A connection for each call: one that is kept may be closed by the server just when it is used again.
            connector=aiohttp.TCPConnector(limit=_CONNECTIONS, force_close=True),
            timeout=aiohttp.ClientTimeout(total=timeout),
            skip_auto_headers=("Content-Type", "User-Agent"),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.session.close()

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str],
        on_write: OnWrite | None = None,
    ) -> Answer:
        """One call below the base URL. `body` is JSON, or bytes that are sent as they are.

        Raises `Broken` where no whole answer comes.
        """
        request, data = f"{method} {path}", _data(body)
        given = {"Content-Type": "application/json", **headers} if data is not None else dict(headers)
        url = f"{self.base_url}{path}"
        try:
            async with self.session.request(method, url, data=data, headers=given) as response:
                received, writes = await _read(response, on_write)
                told = {name.lower(): value for name, value in response.headers.items()}
                return Answer(request, data or b"", response.status, told, received, writes)
        except (TimeoutError, aiohttp.ClientError) as error:
            in_time = f"did not answer within {self._timeout:g} seconds (--timeout allows more)"
            what = in_time if isinstance(error, TimeoutError) else f"broke off: {error}"
            raise Broken(f"{request} {what}") from None


def no_answer(method: str, path: str, body: Any) -> Answer:
    """What stands for the answer of a call that got none: its status is 0."""
    return Answer(f"{method} {path}", _data(body) or b"", 0, {}, b"", None)


def _data(body: Any) -> bytes | None:
    return body if isinstance(body, bytes) or body is None else encode(body)


async def _read(
    response: aiohttp.ClientResponse, on_write: OnWrite | None
) -> tuple[bytes, list[bytes] | None]:
    is_chunked = response.headers.get("Transfer-Encoding", "").lower() == "chunked"
    writes: list[bytes] = []
    current = received = b""
    async for data, is_end in response.content.iter_chunks():
        current += data
        received += data
        if is_end and current:
            writes.append(current)
            current = b""
        if on_write is not None and not await on_write(received):
            break
    return received, (writes if is_chunked else None)
