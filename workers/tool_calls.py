"""Runs the calls of a round, side by side, and tells what becomes of each by its receipt."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import structlog

from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Verdict, denying
from responses_api.protocol.receipts import REFUSED_BY
from responses_api.protocol.server_tools import MCP_APPROVAL_REQUEST
from responses_api.protocol.sse import encode
from workers.backends.parts import Receipt
from workers.judging import Ruling
from workers.tools.citing import Citing
from workers.tools.provider import Ran
from workers.tools.toolbox import Served

log = structlog.get_logger(__name__)

_MOST_AT_ONCE: Final = 32
"""Of one response: what a model calls beyond waits until one of these has ended."""

_GRACE_SECONDS: Final = 1.0
"""How much later than its provider this ends a call: providers know better what was late, and what follows of it."""

Tell = Callable[[Receipt], None]


@dataclass(frozen=True, slots=True)
class Request:
    """A call that is told: `key` is its own among all of the response; `approval_id` is the request by which its client
    has allowed it.
    """

    key: Hashable
    tool: Served
    arguments: str
    approval_id: str | None = None
    verdicts: tuple[Verdict, ...] = ()

    def receipt(self, item: Json) -> Json:
        """The receipt that a provider made, with what only the loop knows."""
        return item if self.approval_id is None else {**item, "approval_request_id": self.approval_id}


JudgeAgain = Callable[[Request], Awaitable[Ruling]]


class ToolCalls:
    """`tell` tells a receipt at once; `seconds` is how long a call may take, which its provider keeps. `citing` learns
    what may be cited. `most_bytes` is how large the receipts of all calls may be together. `judge_again` judges a call
    that had to wait until others ended, which may be minutes.
    """

    def __init__(
        self, tell: Tell, seconds: float, citing: Citing, most_bytes: int, judge_again: JudgeAgain
    ) -> None:
        self._citing = citing
        self._tell = tell
        self._judge_again = judge_again
        self._seconds = seconds
        self._most_bytes = self._bytes_left = most_bytes
        self._places = asyncio.Semaphore(_MOST_AT_ONCE)

    def count(self, told: Iterable[Json]) -> None:
        """Receipts that are part of the response already take of the room, too."""
        self._bytes_left -= sum(len(encode(receipt)) for receipt in told)

    def announce(self, call: Request) -> None:
        """A call begins: it is told before any of its round runs."""
        begun = call.tool.provider.begun(call.tool.offered, call.arguments)
        self._tell(
            Receipt(
                call.key,
                call.receipt(begun),
                "in_progress",
                called=call.tool.name,
                verdicts=call.verdicts,
            )
        )

    def refuse(self, call: Request, why: str) -> None:
        """Tell that a call is not run, and by which of its verdicts, if it is one of them."""
        self.announce(call)
        self._tell(Receipt(call.key, self._refusal(call, why), "failed", is_done=True))

    def ask(self, call: Request) -> None:
        """Ask the client whether a call may be run. The model has called it: a demand of `tool_choice` is met."""
        item = {
            "type": MCP_APPROVAL_REQUEST,
            "server_label": call.tool.label,
            "name": call.tool.own_name,
            "arguments": call.arguments,
        }
        self._tell(Receipt(call.key, item, called=call.tool.name, verdicts=call.verdicts, is_done=True))

    async def run(self, calls: Iterable[Request]) -> None:
        """Run calls that were announced. Raises what `tell` raises, and what the response fails with where that is what
        becomes of a call; then, and cancelled, it cancels them.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(self._run(call))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _run(self, call: Request) -> None:
        must_wait = self._places.locked()
        async with self._places:
            if must_wait and (ruling := await self._judge_again(call)).fate == "refused":
                self._refuse_late(replace(call, verdicts=ruling.verdicts), ruling)
                return
            steps = _Steps(self._tell, call)
            ran = self._fitting(call, await self._outcome(call, steps))
        if steps.failure is not None:
            raise steps.failure
        self._citing.know(ran.citations)
        step = "failed" if ran.has_failed else "completed"
        self._tell(Receipt(call.key, call.receipt(ran.receipt), step, is_done=True))

    def _refuse_late(self, call: Request, ruling: Ruling) -> None:
        """Tell that a call which was announced is not run after all. Raises what the response fails with for that."""
        item = self._refusal(call, ruling.why)
        self._tell(
            Receipt(call.key, item, "failed", called=call.tool.name, verdicts=call.verdicts, is_done=True)
        )
        if ruling.error is not None:
            raise ruling.error

    def _refusal(self, call: Request, why: str) -> Json:
        """The receipt of a call that is not run."""
        item = call.receipt(call.tool.provider.refused(call.tool.offered, call.arguments, why).receipt)
        refusing = denying(call.verdicts)
        return {**item, REFUSED_BY: refusing[0].to_plain()} if refusing else item

    async def _outcome(self, call: Request, steps: "_Steps") -> Ran:
        provider, offered = call.tool.provider, call.tool.offered
        not_run = partial(provider.refused, offered, call.arguments)
        try:
            async with asyncio.timeout(self._seconds + _GRACE_SECONDS):
                return await provider.run(offered, call.arguments, steps)
        except TimeoutError:
            return not_run(f"The tool did not answer within {self._seconds:g} seconds.")
        except Exception as error:
            # Without its text, which may quote what the tool was told.
            log.error("a tool failed in a way of its own", label=call.tool.label, error=type(error).__name__)
            return not_run("The tool failed.")

    def _fitting(self, call: Request, ran: Ran) -> Ran:
        """How the call ended, or, where that is more than there is room for, that it was."""
        size = len(encode(ran.receipt))
        if size <= self._bytes_left:
            self._bytes_left -= size
            return ran
        why = (
            f"What the tool returned is left out: the tools of this response have returned {self._most_bytes} bytes "
            "together, or nearly so, and may not return more."
        )
        return call.tool.provider.refused(call.tool.offered, call.arguments, why)


class _Steps:
    """Tells the steps of one call. Whoever runs it must not lose what telling failed with."""

    def __init__(self, tell: Tell, call: Request) -> None:
        self.failure: BaseException | None = None
        self._tell = tell
        self._call = call

    def __call__(self, step: str) -> None:
        call = self._call
        begun: Any = call.tool.provider.begun(call.tool.offered, call.arguments)
        try:
            self._tell(Receipt(call.key, call.receipt(begun), step))
        except Exception as failure:
            self.failure = failure
            raise
