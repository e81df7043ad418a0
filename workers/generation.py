"""One response from claim to finish: backend → parts → emitter → event log; its end is stored, and only then told."""

import asyncio
import time
from collections.abc import Sequence
from enum import Enum, auto
from functools import partial
from typing import Any, Final

import structlog
from django.conf import settings

from responses_api.eventlog.backends import Backends
from responses_api.eventlog.publish import Publisher
from responses_api.protocol.admission import CallAdmission, call_admission
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.items import SealedType
from responses_api.protocol.job import Job
from responses_api.protocol.obfuscation import padding
from responses_api.protocol.plain import Json
from responses_api.protocol.policy_reading import policies_of
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot
from responses_api.quotas.spending import Used
from responses_api.services.endings import failed
from responses_api.services.finish import Outcome
from responses_api.services.hosted import is_ours
from responses_api.services.identity import new_id, now
from responses_api.services.sealed import sealer
from workers.backends.client import UpstreamClient
from workers.charging import counted, is_told
from workers.emitter import Emitter
from workers.failover import Failover
from workers.faults import DIVERGED, FAILED, NOT_STORED, STOPPED, TOO_LONG, HandedBack
from workers.hearing import Hearing
from workers.judging import Beside
from workers.retelling import Diverged, Retelling, Told
from workers.rounds import Rounds
from workers.screening import Screen
from workers.serving import Serving, judged_before
from workers.telling import Telling
from workers.writer import Writer

log = structlog.get_logger(__name__)


class _Phase(Enum):
    RUNNING = auto()
    CANCELLED = auto()
    STOPPED = auto()
    ABANDONED = auto()
    ENDING = auto()


class Generation:
    """Generates the response of one job that was claimed under the name `worker`."""

    def __init__(
        self,
        job: Job,
        worker: str,
        upstream: UpstreamClient,
        publisher: Publisher,
        writer: Writer,
        backends: Backends | None = None,
        told: Told = (),
        tools: Serving | None = None,
    ) -> None:
        self.job = job
        self.worker = worker
        self._writer = writer
        self._request: Final = CreateRequest.from_plain(job.request)
        self._retelling = Retelling(told, new_id, is_ours)
        # Only a request that has some costs anything for the tools that the service runs.
        serves = tools is not None and not self._request.compacts and tools.serves(job.request)
        collected: list[str] | None = [] if serves else None
        self._admission = self._new_admission(collected)
        self._emitter = self._new_emitter()
        self._emitter.resume(self._retelling.finished, partial(judged_before, job))
        self._telling = Telling(job, self._request, worker, publisher, self._emitter, self._retelling)
        self._hearing = Hearing(
            Failover(job, backends, has_told=self._retelling.has_told_answer),
            upstream,
            publisher,
            screen=Screen(self._admission),
            retelling=self._retelling,
            emitter=self._emitter,
            telling=self._telling,
            compacts=self._request.compacts,
        )
        self._rounds: Rounds | None = None
        if tools is not None and collected is not None:
            self._rounds = Rounds(
                job,
                self._request,
                hearing=self._hearing,
                emitter=self._emitter,
                collected=collected,
                backends=backends,
                serving=tools,
                has_told=self._retelling.has_told_answer,
            )
        self._phase = _Phase.RUNNING
        self._stopped_by = STOPPED
        self._task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """Nobody wants the response any more. One that is just being stored is finished all the same."""
        self._interrupt(_Phase.CANCELLED)

    def stop(self, error: ProtocolError = STOPPED) -> None:
        """The worker, or who asked, ends and cannot wait: the response fails with `error`, and its client learns it
        now; one that nobody waits for is handed back.
        """
        self._stopped_by = error
        self._interrupt(_Phase.STOPPED)

    def abandon(self) -> None:
        """Somebody else has ended the response: stop without another word."""
        self._interrupt(_Phase.ABANDONED)

    async def run(self) -> None:
        """Generate, store, tell. Raises `HandedBack` where this worker cannot end a background response."""
        began = time.monotonic()
        self._task = asyncio.current_task()
        with structlog.contextvars.bound_contextvars(
            response_id=self.job.response_id, tenant_id=self.job.tenant_id, request_id=self.job.request_id
        ):
            await self._generate()
            if self._phase is not _Phase.ABANDONED:
                self._phase = _Phase.ENDING
                await self._end()
            elif not self.job.is_background:
                await self._charge(failed(self._emitter.record, STOPPED))
            self._report(time.monotonic() - began)

    async def _generate(self) -> None:
        """Run the upstream to its end and end the emitter with it, whatever that end is."""
        emitter = self._emitter
        try:
            async with asyncio.timeout(settings.RESPONSE_SECONDS):
                await self._converse()
            emitter.finish()
        except ProtocolError as error:
            emitter.fail(error if self._rounds is None else self._rounds.with_unreachable(error))
        except Diverged:
            raise HandedBack(DIVERGED) from None
        except TimeoutError:
            emitter.fail(TOO_LONG)
        except asyncio.CancelledError:
            assert self._task is not None
            self._task.uncancel()
            self._end_interrupted()
        except Exception:
            log.exception("generation failed")
            emitter.fail(FAILED)

    def _end_interrupted(self) -> None:
        if self._phase is _Phase.STOPPED and self.job.is_background:
            raise HandedBack
        if self._phase is _Phase.STOPPED:
            self._emitter.fail(self._stopped_by)
        elif self._phase is not _Phase.ABANDONED:
            self._emitter.cancel()

    async def _converse(self) -> None:
        if self._rounds is None:
            await self._hearing.hear()
        else:
            await self._rounds.run()

    def _seal(self, item_type: SealedType, content: Any) -> str:
        """Bound to the target that it is of: it goes back to no other."""
        return sealer(self._hearing.failover.job)(item_type, content)

    async def _end(self) -> None:
        last = self._last_events() if self.job.is_background else b""
        # What was refused before anything was told leaves nothing behind: nobody knows its id.
        if self._request.store and (self._telling.is_known or self._emitter.error is None):
            await self._store()
        else:
            await self._charge(self._emitter.record)
        if self._phase is not _Phase.ABANDONED:
            self._telling.end(last)

    def _last_events(self) -> bytes:
        """What is still to be told, where this attempt has come as far as the one before it."""
        try:
            last = self._retelling.rest(self._emitter.drain())
        except Diverged:
            raise HandedBack(self._emitter.error or DIVERGED) from None
        if self._retelling.is_behind:
            raise HandedBack(self._emitter.error or DIVERGED)
        return last

    async def _store(self) -> None:
        """Store the end; where that is impossible the end becomes a failure, which the client learns."""
        try:
            record, score = self._emitter.record, self._emitter.score()
            if not await self._writer.write(await self._outcome(record, score, is_stored=True)):
                log.warning("the response had been ended by another")
                self._phase = _Phase.ABANDONED
        except Exception as error:
            # Without its text: a database quotes the values that it could not take.
            log.error("the response could not be stored", error=type(error).__name__)
            if self.job.is_background:
                raise HandedBack from None
            self._emitter.fail(NOT_STORED)

    async def _charge(self, snapshot: Json) -> None:
        """Write what is not stored into the ledger. Its client gets its answer also where that cannot be done."""
        outcome = await self._outcome(snapshot, None, is_stored=False)
        try:
            await self._writer.write(outcome)
        except Exception as error:
            log.error("the response could not be charged", error=type(error).__name__, entry=outcome.entry())

    async def _outcome(self, snapshot: Json, score: Json | None, *, is_stored: bool) -> Outcome:
        """How it ended and what it used: as the backend told, else as it is counted here, once that had accepted it."""
        used = await self._used(snapshot)
        return Outcome(
            self._served,
            snapshot,
            score,
            decisions=self._emitter.decisions or None,
            used=used,
            is_stored=is_stored,
            first_event_ms=self._hearing.first_word_ms,
            tried=self._hearing.tried or None,
        )

    async def _used(self, snapshot: Json) -> Used | None:
        usage, output = snapshot["usage"], snapshot["output"]
        if self._rounds is not None:
            return await self._rounds.used(output)
        accepted = self._hearing.accepted
        if accepted is None or is_told(usage, output, is_last=self._emitter.is_usage_last):
            return None
        try:
            return await asyncio.to_thread(counted, accepted, output, usage)
        except Exception:  # whatever it is, it must not take the response's end with it
            log.exception("what a response used could not be counted")
            return None

    @property
    def _served(self) -> Job:
        """The job, at the target that was asked last."""
        return self._hearing.failover.job if self._rounds is None else self._rounds.served

    def _interrupt(self, phase: _Phase) -> None:
        if self._phase is _Phase.RUNNING and self._task is not None:
            self._phase = phase
            self._task.cancel()

    def _report(self, seconds: float) -> None:
        response, error = self._emitter.response, self._emitter.error
        usage = response["usage"] or {}
        log.info(
            "response ended",
            status="abandoned" if self._phase is _Phase.ABANDONED else response["status"],
            error=error.code or error.type if error else None,
            reason=error.reason if error else None,
            model=response["model"],
            backend=self._served.backend["name"],
            tried=len(self._hearing.tried) or None,
            seconds=round(seconds, 3),
            events=self._emitter.next_sequence,
            input_tokens=usage.get("input_tokens"),
            output_tokens=usage.get("output_tokens"),
        )

    def _new_admission(self, collected: Sequence[str] | None) -> CallAdmission | Beside | None:
        """Which calls may be told. What a compaction says is no answer to the request: no call is due."""
        if self._request.compacts:
            return None
        admission = call_admission(self._request, policies_of(self.job.policies))
        return admission if collected is None else Beside(admission, collected)

    def _new_emitter(self) -> Emitter:
        base = snapshot(
            response_id=self.job.response_id,
            created_at=self.job.created_at,
            request=self._request,
            status="in_progress",
        )
        return Emitter(
            base,
            new_id=self._retelling.new_id,
            clock=now,
            dialect=self.job.dialect,
            admission=self._admission,
            pad=partial(padding, self.job.response_id) if self._request.obfuscates else None,
            seal=self._seal,
            include=self._request.include,
            background=self.job.is_background,
        )
