"""The body of an answer, no longer and no slower than its limits."""

import asyncio
from collections.abc import AsyncIterator

import httpx2

from responses_api.protocol.egress import EgressError
from workers.egress.limits import Limits


def too_slow(limits: Limits) -> EgressError:
    """The refusal of an answer that takes too long."""
    return EgressError(f"took longer than the {limits.seconds:g} seconds that it may take")


def too_large(limits: Limits) -> EgressError:
    """The refusal of an answer that is too long."""
    return EgressError(f"answered with more than the {limits.most_bytes} bytes that may be fetched")


class BoundedBody(httpx2.AsyncByteStream):
    """Bytes as they come. Raises `EgressError` for too many of them, and at `deadline`, of the loop's clock."""

    def __init__(self, stream: httpx2.AsyncByteStream, limits: Limits, deadline: float | None) -> None:
        self._stream = stream
        self._limits = limits
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._limits.most_bytes
        pieces = aiter(self._stream)
        while (piece := await self._next(pieces)) is not None:
            left -= len(piece)
            if left < 0:
                raise too_large(self._limits)
            yield piece

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes | None:
        try:
            async with asyncio.timeout_at(self._deadline):
                return await anext(pieces, None)
        except TimeoutError:
            raise too_slow(self._limits) from None

    async def aclose(self) -> None:
        """Close the connection, too, unless the body was read to its end."""
        await self._stream.aclose()
