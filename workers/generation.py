"""One response from claim to finish: backend → parts → emitter → event log; its end is stored, and only then told."""

import asyncio
import time
from contextlib import aclosing
from enum import Enum, auto
from typing import Final

import structlog
from django.conf import settings

from responses_api.eventlog.message import Kind, Message
from responses_api.eventlog.publish import Address, Publisher
from responses_api.protocol.errors import ProtocolError, model_error, server_error
from responses_api.protocol.job import Job
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot
from responses_api.protocol.sse import encode
from responses_api.services.finish import Outcome
from responses_api.services.identity import new_id, now
from workers.backends.client import UpstreamClient
from workers.emitter import Emitter
from workers.writer import Writer

log = structlog.get_logger(__name__)

_STOPPED: Final = server_error(
    "The worker that generated this response was stopped.", code="worker_lost", status=500
)


class _Phase(Enum):
    RUNNING = auto()
    CANCELLED = auto()
    STOPPED = auto()
    ABANDONED = auto()
    ENDING = auto()


class Generation:
    """Generates the response of one claimed job."""

    def __init__(self, job: Job, upstream: UpstreamClient, publisher: Publisher, writer: Writer) -> None:
        self.job = job
        self._upstream = upstream
        self._publisher = publisher
        self._writer = writer
        self._request: Final = CreateRequest.from_plain(job.request)
        self._emitter = self._new_emitter()
        self._address = Address(
            response_id=job.response_id,
            inbox=job.inbox,
            journal=self._request.stream,
            keep_journal=self._request.store,
        )
        self._phase = _Phase.RUNNING
        self._task: asyncio.Task[None] | None = None
        self._is_told = False
        self._told_until = 0

    def cancel(self) -> None:
        """Nobody wants the response any more. One that is just being stored is finished all the same."""
        self._interrupt(_Phase.CANCELLED)

    def stop(self) -> None:
        """The worker ends and cannot wait: the response fails, and its client learns it now."""
        self._interrupt(_Phase.STOPPED)

    def abandon(self) -> None:
        """Somebody else has ended the response: stop without another word."""
        self._interrupt(_Phase.ABANDONED)

    async def run(self) -> None:
        """Generate, store, tell. Raises nothing: whatever goes wrong becomes the response's end."""
        began = time.monotonic()
        self._task = asyncio.current_task()
        with structlog.contextvars.bound_contextvars(
            response_id=self.job.response_id, tenant_id=self.job.tenant_id, request_id=self.job.request_id
        ):
            error = await self._generate()
            if self._phase is not _Phase.ABANDONED:
                self._phase = _Phase.ENDING
                await self._end(error)
            self._report(error, time.monotonic() - began)

    async def _generate(self) -> ProtocolError | None:
        """Run the upstream to its end; returns what the response fails with, if it fails."""
        try:
            async with asyncio.timeout(settings.RESPONSE_SECONDS):
                await self._converse()
        except ProtocolError as error:
            return error
        except TimeoutError:
            return model_error("The response took longer than this server allows.", code="upstream_timeout")
        except asyncio.CancelledError:
            assert self._task is not None
            self._task.uncancel()
            return _STOPPED if self._phase is _Phase.STOPPED else None
        except Exception:
            log.exception("generation failed")
            return server_error("The server failed to generate the response.")
        self._emitter.finish()
        return self._emitter.error

    async def _converse(self) -> None:
        # A slow upstream must not leave the client without a sign of life; a quick one may refuse with a status.
        timer = asyncio.get_running_loop().call_later(settings.START_SECONDS, self._start_telling)
        try:
            async with aclosing(self._upstream.stream(self.job)) as answer:
                async for parts in answer:
                    is_first = not self._is_told
                    self._start_telling()
                    for part in parts:
                        self._emitter.feed(part)
                    self._tell()
                    await self._publisher.keep_up(at_once=is_first)
        finally:
            timer.cancel()

    def _start_telling(self) -> None:
        if not self._is_told:
            self._is_told = True
            self._emitter.start()
            self._tell()

    def _tell(self) -> None:
        """Publish the events made since the last time."""
        if self._request.stream:
            body = self._emitter.drain()
            if body:
                self._publish(Kind.EVENTS, body)

    async def _end(self, error: ProtocolError | None) -> None:
        if error is not None:
            self._emitter.fail(error)
        elif self._task is not None and self._emitter.response["status"] == "in_progress":
            self._emitter.cancel()
        if self._request.store and not self._is_refusal(error):
            error = await self._store(error)
            if self._phase is _Phase.ABANDONED:
                return
        self._tell_end(error)

    async def _store(self, error: ProtocolError | None) -> ProtocolError | None:
        """Store the end; where that is impossible the end becomes a failure, which the client learns."""
        try:
            if not await self._writer.write(Outcome(self.job, self._emitter.response)):
                log.warning("the response had been ended by another")
                self._phase = _Phase.ABANDONED
        except Exception:
            log.exception("the response could not be stored")
            error = server_error("The response could not be stored.", code="storage_failed")
            self._emitter.fail(error)
        return error

    def _tell_end(self, error: ProtocolError | None) -> None:
        """The last message: the terminal event, the whole answer, or a refusal where nothing was told."""
        if error is not None and not (self._is_told and self._request.stream):
            self._publish(Kind.REJECT, encode(error.to_plain()))
        elif self._request.stream:
            body = self._emitter.drain()
            self._publish(Kind.END, body + self._emitter.terminal())
        else:
            self._publish(Kind.ANSWER, encode(self._emitter.response))

    def _publish(self, kind: Kind, body: bytes) -> None:
        first, following = self._told_until, self._emitter.next_sequence
        has_events = kind in (Kind.EVENTS, Kind.END)
        self._publisher.publish(
            self._address, Message(kind, first if has_events else 0, following if has_events else 0, body)
        )
        self._told_until = following

    def _is_refusal(self, error: ProtocolError | None) -> bool:
        """A request that turned out to be wrong before anything was told: it leaves nothing behind."""
        return error is not None and error.type == "invalid_request" and not self._is_told

    def _interrupt(self, phase: _Phase) -> None:
        if self._phase is _Phase.RUNNING and self._task is not None:
            self._phase = phase
            self._task.cancel()

    def _report(self, error: ProtocolError | None, seconds: float) -> None:
        response = self._emitter.response
        usage = response["usage"] or {}
        log.info(
            "response ended",
            status="abandoned" if self._phase is _Phase.ABANDONED else response["status"],
            error=error.code or error.type if error else None,
            model=response["model"],
            backend=self.job.backend["name"],
            seconds=round(seconds, 3),
            events=self._emitter.next_sequence,
            input_tokens=usage.get("input_tokens"),
            output_tokens=usage.get("output_tokens"),
        )

    def _new_emitter(self) -> Emitter:
        base = snapshot(
            response_id=self.job.response_id,
            created_at=self.job.created_at,
            request=self._request,
            status="in_progress",
        )
        return Emitter(base, new_id=new_id, clock=now, dialect=self.job.dialect)
