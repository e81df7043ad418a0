"""daphne's server, ended in order, whose applications wait for clients that are behind.

On SIGTERM it accepts no more connections, lets what runs come to its end for `ANTIPHON_DRAIN_SECONDS`, then cancels the
rest, which tells its clients, and lets the last bytes leave.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from daphne.cli import CommandLineInterface  # first: it installs the reactor
from daphne.server import Server
from django.conf import settings
from twisted.internet import defer
from twisted.web.http import RESPONSES

from config.web.request import Request
from config.web.socket import Socket
from config.web.transport import until_taken
from responses_api.websocket.register import drain

_FAREWELL_SECONDS: Final = 2.0
"""How long a cancelled application may take to tell its client."""

_LAST_BYTES_SECONDS: Final = 0.2
_CLOSE_SECONDS: Final = 5.0

# Twisted knows no 429 and no 426, and would call them "Unknown Status", which some clients show to people.
RESPONSES.update({status.value: status.phrase.encode() for status in HTTPStatus if status not in RESPONSES})


class WebServer(Server):  # type: ignore[misc]  # daphne has no types
    """One web process."""

    def __init__(self, *args: Any, **options: Any) -> None:
        # What is over the service's own limit is answered with an error; what is far over it is not even read.
        most = 2 * settings.MAX_BODY_BYTES
        options |= {"websocket_max_message_size": most, "websocket_max_frame_size": most}
        super().__init__(*args, ready_callable=self._take_over, **options)
        self._ports: list[Any] = []

    def create_application(self, protocol: Any, scope: Any) -> Any:
        """Start the application for one connection."""
        if scope["type"] == "websocket":
            scope["extensions"] = {"websocket.http.response": {}}
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        """Do what an application says, and let it wait for its client."""
        await super().handle_reply(protocol, message)
        if isinstance(protocol, Socket):
            await protocol.until_it_may_send()
        elif (channel := getattr(protocol, "channel", None)) is not None:  # a request that has ended has none
            await until_taken(channel.transport)

    def listen_success(self, port: Any) -> None:
        """A port listens."""
        self._ports.append(port)
        super().listen_success(port)

    def kill_all_applications(self) -> Any:
        """What daphne does before it ends; it waits for the deferred that this returns."""
        return defer.Deferred.fromFuture(asyncio.ensure_future(self._end()))

    def _take_over(self) -> None:
        self.http_factory.buildProtocol = partial(_with_our_requests, self.http_factory.buildProtocol)
        self.ws_factory.protocol = Socket
        # A frame that breaks a rule is answered with a close code, not with a dropped connection; many clients read it
        # only when they have sent the rest of a message that is too large. Only a pong answers a ping, since a client
        # may send and never read.
        self.ws_factory.setProtocolOptions(
            failByDrop=False, closeHandshakeTimeout=_CLOSE_SECONDS, autoPingRestartOnAnyTraffic=False
        )

    async def _end(self) -> None:
        for port in self._ports:
            port.stopListening()
        drain()
        await self._wait_for_applications(settings.DRAIN_SECONDS)
        for application in self._applications():
            application.cancel()
        await self._wait_for_applications(_FAREWELL_SECONDS)
        await asyncio.sleep(_LAST_BYTES_SECONDS)

    async def _wait_for_applications(self, seconds: float) -> None:
        running = self._applications()
        if running:
            await asyncio.wait(running, timeout=seconds)

    def _applications(self) -> "list[asyncio.Future[None]]":
        started = (details.get("application_instance") for details in self.connections.values())
        return [application for application in started if application is not None and not application.done()]


def _with_our_requests(build: Callable[[Any], Any], address: Any) -> Any:
    protocol = build(address)
    protocol.requestFactory = Request
    return protocol


class CommandLine(CommandLineInterface):  # type: ignore[misc]
    """daphne's command line."""

    server_class = WebServer
