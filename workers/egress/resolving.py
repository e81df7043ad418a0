"""The addresses of a name. Another resolver is a function of the same form."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from responses_api.protocol.egress import Address

Resolver = Callable[[str, int], Awaitable[Sequence[Address]]]
"""The addresses of a host, for a port. Raises OSError where there are none."""

# Of its own, and many: whoever names a host with a slow name server has some of these wait, and nothing else.
_threads: Final = ThreadPoolExecutor(max_workers=64, thread_name_prefix="resolve")


async def system_resolver(host: str, port: int) -> Sequence[Address]:
    """What this machine's resolver says, each address once. Raises OSError."""
    found = await asyncio.get_running_loop().run_in_executor(
        _threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )
    # A zone after an address, as in fe80::1%eth0, stays with it: it is judged, too.
    return list(dict.fromkeys(ipaddress.ip_address(entry[4][0]) for entry in found))
