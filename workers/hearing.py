"""Asks the model of one response, and tells what it answers as it comes: once, or round by round (`workers.rounds`)."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import Protocol

from django.conf import settings

from responses_api.eventlog.publish import Publisher
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.truncation import Truncation
from responses_api.services.charges import since_asked
from workers import context
from workers.backends.client import UpstreamClient
from workers.backends.parts import Part
from workers.compaction import compact
from workers.emitter import Emitter
from workers.failover import Failover
from workers.opening import opened_beside
from workers.retelling import Retelling
from workers.screening import Screen
from workers.telling import Telling


class Reader(Protocol):
    """Reads an answer before anybody is told of it."""

    def take(self, parts: Sequence[Part]) -> Sequence[Part]:
        """What goes on of these parts."""

    def rest(self) -> Sequence[Part]:
        """What was held back, once the answer has ended."""


class Hearing:
    """`failover` says who is asked. What is heard goes through the `screen` and the `retelling` to the `emitter`,
    and is published by `telling`. With `compacts` the context is compacted instead of answered.
    """

    def __init__(
        self,
        failover: Failover,
        upstream: UpstreamClient,
        publisher: Publisher,
        *,
        screen: Screen,
        retelling: Retelling,
        emitter: Emitter,
        telling: Telling,
        compacts: bool,
    ) -> None:
        self.failover = failover
        self.first_word_ms: int | None = None
        self.names: Mapping[tuple[str, str], str] = {}
        """What the model knows the service's own tools by: see `opened_beside`."""
        self._upstream = upstream
        self._publisher = publisher
        self._screen = screen
        self._retelling = retelling
        self._emitter = emitter
        self._telling = telling
        self._compacts = compacts
        self._asked: Job | None = None
        self._heard: Job | None = None
        self._truncation: Truncation | None = None
        self._untold: list[Part] = []
        self._tried: list[Json] = []

    @property
    def tried(self) -> list[Json]:
        """The targets that could not answer (see `Failover`), in any round."""
        return [*self._tried, *self.failover.tried]

    @property
    def accepted(self) -> Job | None:
        """The job as its backend has accepted it, nothing sealed in it; None where none has."""
        return self._asked if self.failover.is_accepted else self._heard

    async def hear(self, reader: Reader | None = None) -> None:
        """Ask, and tell the answer to its end. Raises `ProtocolError`, `Diverged`."""
        answer = await self.failover.answer(self._ask)
        with self.sign_of_life():
            async with aclosing(answer):
                async for parts in answer:
                    is_first = not self._telling.has_begun
                    self._tell_truncation()
                    self.begin()
                    self._heard = self._asked
                    if parts and self.first_word_ms is None:
                        self.first_word_ms = since_asked(self.failover.job)
                    self._feed(self._screen.admitted(parts if reader is None else reader.take(parts)))
                    self._telling.go_on()
                    await self._publisher.keep_up(at_once=is_first)
            if reader is not None:
                self._feed(self._screen.admitted(reader.rest()))
            self._feed(self._screen.unnamed())

    @contextmanager
    def sign_of_life(self) -> Iterator[None]:
        """A slow upstream must not leave the client without a sign of life; a quick one may refuse with a status."""
        timer = asyncio.get_running_loop().call_later(settings.START_SECONDS, self._telling.begin)
        try:
            yield
        finally:
            timer.cancel()

    def begin(self) -> None:
        """Tell that the response has begun, and what was kept until then. Raises `ProtocolError`, `Diverged`."""
        self._telling.begin()
        if self._untold:
            untold, self._untold = self._untold, []
            self.tell(*untold)

    def go_on(self, failover: Failover) -> None:
        """Ask for another round."""
        self._tried = self.tried
        self.failover, self._asked, self._heard = failover, None, None

    def note(self, ran: int) -> None:
        """So many calls were run by the service itself: those that follow are judged by that, too."""
        self._screen.note(ran)

    def tell(self, *parts: Part) -> None:
        """Tell what no model said, at once. Raises `ProtocolError`, `Diverged`."""
        self._feed(parts)
        self._telling.go_on()

    def tell_kept(self) -> None:
        """Tell what was kept, where somebody knows already that the response has begun."""
        if self._telling.has_begun:
            self.begin()

    def tell_first(self, parts: Sequence[Part]) -> None:
        """As `tell`, of what is no reason yet to say that the response has begun: the upstream may still refuse it."""
        self._untold += parts
        self.tell_kept()

    async def keep_up(self) -> None:
        """Wait for a publisher that lags behind."""
        await self._publisher.keep_up()

    def _feed(self, parts: Sequence[Part]) -> None:
        for part in self._retelling.refit(parts):
            self._emitter.feed(part)

    async def _ask(self, job: Job) -> context.Parts:
        """Ask one target: the parts of its answer, as they come."""
        self._truncation = None
        self._asked = opened = await opened_beside(job, self.names)
        if self._compacts:
            return compact(opened, self._upstream)
        return context.answer(opened, self._upstream, self._was_truncated)

    def _was_truncated(self, truncation: Truncation) -> None:
        self._truncation = truncation

    def _tell_truncation(self) -> None:
        """What was dropped for the target that answers; nobody is told what was for one that did not."""
        truncation, self._truncation = self._truncation, None
        if truncation is not None:
            self._emitter.truncated(truncation)
