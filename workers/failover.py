"""The targets of a job, asked one after the other until one of them answers.

The next one is asked where a target cannot be reached, is silent for too long, answers with an error of its own, breaks
off before it has said anything, or cannot take what the request holds; never after the first part of an answer, and
never where the backend refused the request itself (400): another one would do no better.

Where none answers, the client is told what helps it most: an error that says when to come back, with the shortest wait
that any of them told; else what failed first; and only where no target takes the request, why the first one does not.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Final, TypeVar

import structlog

from responses_api.eventlog.backends import Backends, Standing
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.order import with_preference
from responses_api.protocol.plain import Json
from responses_api.protocol.target import Target
from responses_api.services.sealed import holder
from workers.backends.parts import StateReport, UsageReport
from workers.faults import FAILED

log = structlog.get_logger(__name__)

T = TypeVar("T")
Answer = AsyncGenerator[list[T], None]
"""What is answered, as it comes: lists of parts, or the one thing that is asked for."""

_OF_THE_TARGET: Final = ("unsupported_value", "url_not_fetched", "context_length_exceeded")
"""Refusals that another target may not share: it takes other things, or more of them."""
_FAILING_STATUSES: Final = (401, 403, 407, 408, 429)
"""Those below 500 that say that a backend serves nobody; others are about one model, or one request."""
_USUAL_WAIT_SECONDS: Final = 1.0
_SAYS_NOTHING: Final = (UsageReport, StateReport)


class Failover:
    """Who is asked for one job. `job` is the job as the target has it that is asked now, or that has answered;
    `tried` are those that could not answer: backend, model, reason, status of its answer and milliseconds.

    `has_told`: an attempt before this one told a part of the answer, by the target that the job names. Without
    `backends` no breaker is looked at.
    """

    def __init__(self, job: Job, backends: Backends | None, *, has_told: bool = False) -> None:
        self.job = job
        self.tried: list[Json] = []
        self._given: Final = job
        self._backends = backends
        self._has_told = has_told
        self._standing: dict[str, Standing] = {}
        self.is_accepted = False
        """Whether the target that is asked now has taken the job, although nothing of its answer was passed on yet."""

    async def answer(self, ask: Callable[[Job], Awaitable[Answer[T]]]) -> Answer[T]:
        """The answer of the first target that gives one. `ask` begins to ask one; a job that has only one costs
        nothing more.

        What a target says before its first word (that it accepted, its usage, its state) is held back as long as
        another could be asked instead. Raises `ProtocolError`, as the answer itself does.
        """
        if not self._given.targets:
            return await ask(self.job)
        return self._answer(ask)

    async def result(self, ask: Callable[[Job], Awaitable[T]]) -> T:
        """As `answer`, of what is answered in one piece."""

        async def once(job: Job) -> Answer[T]:
            yield [await ask(job)]

        async def begin(job: Job) -> Answer[T]:
            return once(job)

        async with aclosing(await self.answer(begin)) as answer:
            async for (found,) in answer:
                return found
        raise FAILED.anew()

    async def _answer(self, ask: Callable[[Job], Awaitable[Answer[T]]]) -> Answer[T]:
        targets = await self._ordered()
        errors: list[ProtocolError] = []
        try:
            for place, target in enumerate(targets, start=1):
                self.job, self.is_accepted = self._given.at(target), False
                began, has_said = time.monotonic(), False
                try:
                    async with aclosing(self._held_back(await ask(self.job), place < len(targets))) as answer:
                        async for parts in answer:
                            if not has_said and _says(parts):
                                has_said = True
                                await self._has_begun(target)
                            yield parts
                    return
                except ProtocolError as error:
                    failure = error
                except Exception:
                    log.exception("asking a backend failed", backend=target.name)
                    failure = FAILED.anew()
                if has_said:
                    raise failure
                await self._failed(target, failure, time.monotonic() - began)
                if not _may_go_on(failure):
                    raise failure
                errors.append(failure)
        finally:
            await self._release()
        raise most_useful(errors)

    async def _held_back(self, answer: Answer[T], is_to_hold: bool) -> Answer[T]:
        """The answer, from its first part on; what came before it comes with it."""
        held: list[list[T]] = []
        async with aclosing(answer):
            async for parts in answer:
                self.is_accepted = True
                if is_to_hold and not _says(parts):
                    held.append(parts)
                    continue
                is_to_hold = False
                if held:
                    parts = [part for earlier in (*held, parts) for part in earlier]
                    held.clear()
                yield parts
        if held:
            yield [part for earlier in held for part in earlier]

    async def _ordered(self) -> Sequence[Target]:
        job, told_by = self._given, self._given.backend["name"] if self._has_told else None
        held_by = await holder(job)
        targets = with_preference(job.choices(), told_by=told_by, held_by=held_by)
        if self._backends is not None:
            self._standing = await self._backends.look([target.name for target in targets])
        return with_preference(
            targets,
            told_by=told_by,
            held_by=held_by,
            is_open=lambda name: self._standing.get(name) == "open",
        )

    async def _has_begun(self, target: Target) -> None:
        """Before the first part is told: whoever takes over from this worker must know who said it."""
        if self._backends is None:
            return
        if self._standing.pop(target.name, "closed") != "closed":
            await self._backends.succeeded(target.name)
        if target.name != self._given.backend["name"]:
            await self._backends.serves(self._given.response_id, target.name)

    async def _failed(self, target: Target, error: ProtocolError, seconds: float) -> None:
        milliseconds = round(seconds * 1000)
        self.tried.append(
            {
                "backend": target.name,
                "model": target.upstream_model,
                "reason": error.code or error.type,
                "status": error.upstream_status,
                "ms": milliseconds,
            }
        )
        log.warning(
            "a target gave no answer",
            backend=target.name,
            upstream_model=target.upstream_model,
            error=error.code or error.type,
            reason=error.reason,
            milliseconds=milliseconds,
        )
        if self._backends is not None and _is_of_the_backend(error):
            self._standing.pop(target.name, None)
            await self._backends.failed(
                target.name, error.retry_after if error.type == "too_many_requests" else None
            )

    async def _release(self) -> None:
        """Let others try a half open backend that was not tried after all."""
        for name, standing in self._standing.items():
            if standing == "half_open" and self._backends is not None:
                await self._backends.released(name)


def most_useful(errors: Sequence[ProtocolError]) -> ProtocolError:
    """Of what the targets failed with, in the order in which they were asked, what the client is told."""
    return min(errors, key=_usefulness)


def _usefulness(error: ProtocolError) -> tuple[int, float]:
    if error.status in (429, 503):
        return 0, _USUAL_WAIT_SECONDS if error.retry_after is None else error.retry_after
    return (2 if error.type == "invalid_request" else 1), 0.0


def _says(parts: Sequence[object]) -> bool:
    """Whether anything of an answer is among these; its usage is not, nor what the upstream wants back with it."""
    return any(type(part) not in _SAYS_NOTHING for part in parts)


def _may_go_on(error: ProtocolError) -> bool:
    return error.type != "invalid_request" or error.code in _OF_THE_TARGET


def _is_of_the_backend(error: ProtocolError) -> bool:
    """Whether the failure says that the backend as a whole does not serve."""
    status = error.upstream_status
    if error.type == "invalid_request":
        return False
    return status is None or status >= 500 or status in _FAILING_STATUSES
