"""What a job is asked on top of, made to fit its model's context window: the step before the upstream's call.

A request that surely fits is not counted, and one whose route has no window and that does not want to be truncated
passes at no cost.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

import structlog

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.truncation import Truncation, droppable_turns, input_budget
from workers.backends.client import UpstreamClient
from workers.backends.counting import IMAGE_TOKENS
from workers.backends.parts import Part
from workers.tokens import count_tokens

log = structlog.get_logger(__name__)

OVERFLOW: Final = "context_length_exceeded"
_MOST_TRIES: Final = 4

Parts = AsyncGenerator[list[Part], None]


def answer(job: Job, upstream: UpstreamClient, on_truncated: Callable[[Truncation], None]) -> Parts:
    """The answer to `job` as `UpstreamClient.stream` gives it, on a context that fits.

    With `truncation: auto` old turns are dropped until it does, also where only the upstream's refusal tells that it
    does not; `on_truncated` hears of it when the upstream has accepted, again where it still refused afterwards. Raises
    `ProtocolError` 400 `context_length_exceeded` where it cannot fit.
    """
    if job.request["truncation"] == "auto":
        return _truncated(job, upstream, on_truncated)
    if job.context_window is not None:
        return _checked(job, job.context_window, upstream)
    return upstream.stream(job)


async def _checked(job: Job, window: int, upstream: UpstreamClient) -> Parts:
    if _most_tokens(job) >= window:
        tokens = await count_tokens(job, upstream)
        if tokens >= window:
            raise _too_long("The input has", tokens, job, window)
    async with aclosing(upstream.stream(job)) as answer:
        async for parts in answer:
            yield parts


async def _truncated(job: Job, upstream: UpstreamClient, on_truncated: Callable[[Truncation], None]) -> Parts:
    fitting = _Fitting(job, upstream)
    await fitting.fit()
    while True:
        is_accepted = has_said = False
        try:
            async with aclosing(upstream.stream(fitting.job)) as answer:
                async for parts in answer:
                    if not is_accepted and fitting.truncation is not None:
                        on_truncated(fitting.truncation)
                    is_accepted, has_said = True, has_said or bool(parts)
                    yield parts
            return
        except ProtocolError as error:
            if has_said or error.code != OVERFLOW or not await fitting.drop_more():
                raise


class _Fitting:
    """A job whose oldest turns are dropped step by step; `job` is what is left of it."""

    def __init__(self, job: Job, upstream: UpstreamClient) -> None:
        self._whole = job
        self._upstream = upstream
        self._turns: Sequence[Sequence[int]] | None = None
        self._dropped = 0
        self._tries = 0
        self.job = job
        self.truncation: Truncation | None = None

    async def fit(self) -> None:
        """Drop as few turns as make the input fit, room for its answer included. Raises `ProtocolError` 400."""
        window = self._whole.context_window
        if window is None:
            return
        budget = input_budget(window, self._whole.request["max_output_tokens"])
        if _most_tokens(self._whole) <= budget:
            return
        whole = await count_tokens(self._whole, self._upstream)
        if whole > budget:
            await self._drop_fewest(whole, budget, window)

    async def drop_more(self) -> bool:
        """After the upstream refused what is left: drop half of the turns that may be, in the last try all of them.

        False where nothing may be dropped any more.
        """
        turns = self._all_turns()
        left = len(turns) - self._dropped
        if left == 0 or self._tries == _MOST_TRIES:
            return False
        self._tries += 1
        dropped = self._dropped + (left if self._tries == _MOST_TRIES else (left + 1) // 2)
        is_counted = self._whole.context_window is not None
        job = self._without(dropped)
        self._settle(dropped, await count_tokens(job, self._upstream) if is_counted else None)
        return True

    async def _drop_fewest(self, whole: int, budget: int, window: int) -> None:
        turns = self._all_turns()
        # The count falls with each turn: the fewest are found by halving, without a count for each.
        least = await self._count(len(turns)) if turns else whole
        if least >= window:
            raise _too_long(
                "The newest turn of the input, with its instructions, has", least, self._whole, window
            )
        fewest, tokens = len(turns), least
        kept = 0
        while fewest - kept > 1:
            middle = (kept + fewest) // 2
            count = await self._count(middle)
            if count <= budget:
                fewest, tokens = middle, count
            else:
                kept = middle
        self._settle(fewest, tokens)

    async def _count(self, dropped: int) -> int:
        return await count_tokens(self._without(dropped), self._upstream)

    def _all_turns(self) -> Sequence[Sequence[int]]:
        if self._turns is None:
            self._turns = droppable_turns(self._whole.context)
        return self._turns

    def _without(self, dropped: int) -> Job:
        places = {place for turn in self._all_turns()[:dropped] for place in turn}
        before = len(self._whole.history)
        return replace(
            self._whole,
            history=_left(self._whole.history, places, 0),
            input_items=_left(self._whole.input_items, places, before),
        )

    def _settle(self, dropped: int, tokens: int | None) -> None:
        self._dropped = dropped
        if dropped == 0:
            return
        self.job = self._without(dropped)
        self.truncation = Truncation(
            dropped_items=len(self._whole.context) - len(self.job.context),
            dropped_turns=dropped,
            input_tokens=tokens,
            context_window=self._whole.context_window,
        )
        log.info("input truncated", **self.truncation.to_plain())


def _left(items: Sequence[Json], dropped: set[int], offset: int) -> list[Json]:
    return [item for place, item in enumerate(items, offset) if place not in dropped]


def _most_tokens(job: Job) -> int:
    """More tokens than the input can have, at the price of one look at its bytes.

    A token is at least a byte of text, and the envelope around the texts is longer than what templates add. An image
    costs what it shows, not what its address is long; where a model takes more for it, its backend refuses by itself.
    """
    envelope = job.to_bytes()
    return len(envelope) + envelope.count(b'"input_image"') * IMAGE_TOKENS


def _too_long(what: str, tokens: int, job: Job, window: int) -> ProtocolError:
    return invalid_request(
        f"{what} {tokens} tokens; the context window of the model '{job.request['model']}' is {window} tokens, "
        "its answer included.",
        param="input",
        code=OVERFLOW,
    )
