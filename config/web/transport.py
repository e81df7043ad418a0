"""What a connection still has to send: Twisted keeps it in memory, without a bound, for a client that does not read."""

import asyncio
import time
from typing import Any, Final

import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

_ENOUGH_BYTES: Final = 1 << 20
_LOOK_SECONDS: Final = 0.02


def unsent_bytes(transport: Any) -> int:
    """The bytes that Twisted's transport holds for a client whose socket takes no more."""
    unsent: int = len(transport.dataBuffer) - transport.offset + transport._tempDataLen
    return unsent


async def until_taken(transport: Any) -> None:
    """Wait while a client of HTTP is far behind. One that reads nothing at all for `STUCK_SECONDS` is dropped."""
    least, at = unsent_bytes(transport), time.monotonic()
    while transport.connected and (unsent := unsent_bytes(transport)) > _ENOUGH_BYTES:
        if unsent < least:
            least, at = unsent, time.monotonic()
        elif time.monotonic() - at > settings.STUCK_SECONDS:
            log.warning("a client was dropped", reason="nothing is read", unsent=unsent)
            transport.abortConnection()
            return
        await asyncio.sleep(_LOOK_SECONDS)
