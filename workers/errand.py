"""A job that is no response: its answer is one JSON document, which is told once and kept nowhere."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from django.conf import settings

from responses_api.eventlog.backends import Backends
from responses_api.eventlog.message import Kind, Message
from responses_api.eventlog.publish import Address, Publisher
from responses_api.protocol.errors import ProtocolError, server_error
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.quotas.spending import Used
from responses_api.services.endings import answer, refusal
from responses_api.services.finish import Outcome
from workers.charging import counted
from workers.failover import Failover
from workers.faults import FAILED, STOPPED, TOO_LONG
from workers.opening import opened_beside
from workers.writer import Writer

log = structlog.get_logger(__name__)

CANCELLED: Final = server_error("The request was cancelled.", code="cancelled")

Note = Callable[[Json | None], None]
"""Hears that the backend has accepted, and what the errand has used so far, as a response shows it, once that is told.
"""
Answer = Callable[[Job, Note], Awaitable[Json]]
"""Does the errand. Raises `ProtocolError` for what the client is to read."""


class Errand:
    """Runs `answer` for one job that was claimed under the name `worker`. One with a `writer` is charged, one with
    `backends` counts for their breakers.
    """

    def __init__(
        self,
        job: Job,
        worker: str,
        publisher: Publisher,
        answer: Answer,
        writer: Writer | None = None,
        backends: Backends | None = None,
    ) -> None:
        self.job = job
        self.worker = worker
        self._publisher = publisher
        self._answer = answer
        self._writer = writer
        self._failover = Failover(job, backends)
        self._usage: Json | None = None
        self._is_accepted = False
        self._error: ProtocolError | None = None
        self._task: asyncio.Task[None] | None = None
        self._interrupted_by: ProtocolError | None = None
        self._is_abandoned = False

    def cancel(self) -> None:
        """Nobody wants the answer any more."""
        self._interrupt(CANCELLED)

    def stop(self) -> None:
        """The worker ends and cannot wait: the client learns it now."""
        self._interrupt(STOPPED)

    def abandon(self) -> None:
        """Somebody else has answered: stop without another word."""
        self._is_abandoned = True
        self._interrupt(STOPPED)

    async def run(self) -> None:
        """Find the answer and tell it."""
        began = time.monotonic()
        self._task = asyncio.current_task()
        with structlog.contextvars.bound_contextvars(
            response_id=self.job.response_id, tenant_id=self.job.tenant_id, request_id=self.job.request_id
        ):
            message = await self._message()
            if self._writer is not None:
                await self._charge(self._writer)
            if not self._is_abandoned:
                self._publisher.publish(self._address(), message)
            log.info(
                "errand ended",
                purpose=self.job.purpose,
                is_answered=message.kind is Kind.ANSWER,
                backend=self._failover.job.backend["name"],
                seconds=round(time.monotonic() - began, 3),
            )

    async def _message(self) -> Message:
        """The answer or the refusal. Nothing can interrupt what comes after it."""
        try:
            async with asyncio.timeout(settings.RESPONSE_SECONDS):
                return answer(await self._failover.result(self._ask))
        except ProtocolError as error:
            return self._refusal(error)
        except TimeoutError:
            return self._refusal(TOO_LONG)
        except asyncio.CancelledError:
            if self._interrupted_by is None or self._task is None:
                raise
            self._task.uncancel()
            return self._refusal(self._interrupted_by)
        except Exception:
            log.exception("errand failed")
            return self._refusal(FAILED)
        finally:
            self._task = None

    async def _ask(self, job: Job) -> Json:
        self._usage, self._is_accepted = None, False
        return await self._answer(job, self._note)

    def _refusal(self, error: ProtocolError) -> Message:
        self._error = error
        return refusal(error)

    def _note(self, usage: Json | None) -> None:
        self._usage, self._is_accepted = usage, True

    async def _charge(self, writer: Writer) -> None:
        """Write it into the ledger. Its client gets its answer also where that cannot be done."""
        error = self._error
        status = "completed" if error is None else "cancelled" if error is CANCELLED else "failed"
        told = {"status": status, "error": error and error.snapshot_error(), "usage": self._usage}
        outcome = Outcome(self._failover.job, told, used=await self._counted(), is_stored=False)
        try:
            await writer.write(outcome)
        except Exception as failure:
            log.error("an errand could not be charged", error=type(failure).__name__, entry=outcome.entry())

    async def _counted(self) -> Used | None:
        """What an errand that broke off has used at least; None for one that its backend ended, or never took."""
        if self._error is None or not self._is_accepted:
            return None
        try:
            job = await opened_beside(self._failover.job)
            return await asyncio.to_thread(counted, job, (), self._usage)
        except Exception:  # whatever it is, it must not take the errand's end with it
            log.exception("what an errand used could not be counted")
            return None

    def _address(self) -> Address:
        return Address(
            response_id=self.job.response_id,
            worker=self.worker,
            inbox=self.job.inbox,
            journal=False,
            keep_journal=False,
        )

    def _interrupt(self, error: ProtocolError) -> None:
        if self._task is not None and self._interrupted_by is None:
            self._interrupted_by = error
            self._task.cancel()
