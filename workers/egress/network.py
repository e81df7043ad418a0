"""The one way to a server: its name resolved once, all its addresses judged, a judged one connected to."""

import asyncio
import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final

import httpcore2

from responses_api.protocol.egress import (
    NOWHERE,
    Address,
    Destination,
    EgressError,
    EgressRules,
    check_address,
    check_url,
)
from workers.egress.resolving import Resolver

_MOST_TRIED: Final = 4
_CONNECT_SECONDS: Final = 10.0


class GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to what the rules let it, of one scheme. TLS goes on above it, with the name as it was asked for."""

    def __init__(self, rules: EgressRules, resolver: Resolver, *, scheme: str) -> None:
        self._rules = rules
        self._resolver = resolver
        self._scheme = scheme
        self._network: Final = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to `host`. Raises `EgressError` where it may not be, httpcore's errors where none is made."""
        try:
            async with asyncio.timeout(timeout or _CONNECT_SECONDS):
                addresses = await self._addresses(host, port)
                return await self._connect(addresses, port, local_address, socket_options)
        except TimeoutError:
            raise httpcore2.ConnectTimeout("no connection in time") from None

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Never: what listens there is this machine's."""
        raise EgressError(NOWHERE, "a unix socket")

    async def sleep(self, seconds: float) -> None:
        """As httpcore wants it between two attempts, which are not made here."""
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> Sequence[Address]:
        destination = check_url(_origin(self._scheme, host, port), self._rules)
        if destination.address is not None:
            return [self._judged(destination.address, destination)]
        try:
            found = await self._resolver(destination.host, port)
        except (OSError, UnicodeError) as error:
            raise EgressError(NOWHERE, f"it has no address: {error}") from None
        if not found:
            raise EgressError(NOWHERE, "it has no address")
        # All of them, or one for show beside one that is meant would leave it to chance.
        return [self._judged(address, destination) for address in found][:_MOST_TRIED]

    def _judged(self, address: Address, destination: Destination) -> Address:
        is_plain = destination.scheme == "http"
        return check_address(address, self._rules, is_plain=is_plain, is_allowed=destination.is_allowed)

    async def _connect(
        self,
        addresses: Sequence[Address],
        port: int,
        local_address: str | None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception = httpcore2.ConnectError("no address")
        for address in addresses:
            try:
                return await self._network.connect_tcp(
                    str(address), port, local_address=local_address, socket_options=socket_options
                )
            except httpcore2.ConnectError as error:
                failure = error
        raise failure


def _origin(scheme: str, host: str, port: int) -> str:
    try:
        is_ipv6 = ipaddress.ip_address(host).version == 6
    except ValueError:
        is_ipv6 = False
    return f"{scheme}://[{host}]:{port}" if is_ipv6 else f"{scheme}://{host}:{port}"
