"""The rounds of one response: the model is asked, what it calls of the tools that the service runs is run, and it is
asked again with what came of that, until it calls none of them.

The context of the next round is the context of the response and the items told so far, exactly as a request that
continued it would see them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from django.conf import settings

from responses_api.eventlog.backends import Backends
from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.rounds import rounds_in, said_by_model
from responses_api.protocol.server_tools import MCP_APPROVAL_REQUEST, canonical_type
from responses_api.protocol.wording import quoted
from responses_api.quotas.spending import Used
from responses_api.services.hosted import declarations, is_ours
from workers.backends.parts import Receipt, RoundEnd, Stop
from workers.collecting import Collector
from workers.emitter import Emitter
from workers.failover import Failover
from workers.hearing import Hearing
from workers.provision import Provision
from workers.round_calls import RoundCalls
from workers.round_jobs import LEAST_OUTPUT, Round, round_job
from workers.serving import Serving
from workers.tally import Tally
from workers.tool_calls import Request
from workers.tools.choosing import demands_served
from workers.tools.citing import Citing, citable
from workers.tools.toolbox import Toolbox

_MOST_NAMED: Final = 5
"""How many servers an error names."""


class Rounds:
    """The rounds of one job. `collected` are the names of the calls that the model makes now, for whoever else judges
    some; `has_told`: an attempt before this one told a part of the answer.
    """

    def __init__(
        self,
        job: Job,
        request: CreateRequest,
        *,
        hearing: Hearing,
        emitter: Emitter,
        collected: list[str],
        backends: Backends | None,
        serving: Serving,
        has_told: bool,
    ) -> None:
        self._job = job
        self._request = request
        self._toolbox = Toolbox((), ())
        self._hearing = hearing
        self._emitter = emitter
        self._collected = collected
        self._backends = backends
        self._serving = serving
        self._has_told = has_told
        self._citing = Citing()
        self._calls = RoundCalls(
            job, request, hearing=hearing, emitter=emitter, serving=serving, citing=self._citing
        )
        self._tally = Tally()
        self._provision = Provision(job)
        self._number = 0
        self._collector: Collector | None = None
        self._said_from = 0

    async def run(self) -> None:
        """Run them to the end of the response's answer. Raises `ProtocolError`, `Diverged`."""
        self._toolbox = self._serving.toolbox(self._job)
        try:
            told = self._emitter.told_items
            self._number = rounds_in(told, is_ours)
            self._calls.take_up(told)
            self._citing.know(citable([*self._job.context, *told], declarations().values()))
            with self._hearing.sign_of_life():
                lists = await self._toolbox.open([*self._job.context, *told], settings.TOOL_SECONDS)
            self._hearing.names = self._toolbox.names
            self._hearing.tell_first(
                [part for place, item in enumerate(lists) for part in _listed(place, item)]
            )
            await self._calls.run_approved(self._toolbox)
            while not self._is_answered() and await self._round():
                pass
        except ProtocolError:
            self._hearing.tell_kept()
            raise
        finally:
            await self._toolbox.close()

    def with_unreachable(self, error: ProtocolError) -> ProtocolError:
        """The error, which the response fails with, naming the servers that could not be reached beside it."""
        labels = self._toolbox.unreachable
        named, others = labels[:_MOST_NAMED], len(labels) - _MOST_NAMED
        sentences = [f"The MCP server '{quoted(label)}' could not be reached either." for label in named]
        if others > 0:
            sentences.append(f"Nor could {others} more.")
        return error.adding(*sentences)

    async def used(self, output: Sequence[Json]) -> Used:
        """What all rounds used, the one that broke off included; `output` are all items told."""
        if self._collector is not None:
            await self._count(self._collector, output)
        return self._tally.used

    @property
    def served(self) -> Job:
        """The job of the response, at the target that was asked last, with what is held for it now."""
        asked = self._hearing.failover.job.target
        return replace(self._job.at(asked), reserved=self._provision.reserved)

    # ------------------------------------------------------------------ one round

    async def _round(self) -> bool:
        """Ask the model, and run what it calls; whether it is to be asked again."""
        at = self._next()
        if at.tokens_left is not None and at.tokens_left < LEAST_OUTPUT:
            self._hearing.tell(Stop("length"))
            return False
        calls, stop = await self._ask(at)
        is_cut_short = stop is not None and stop.is_cut_short
        if not calls or is_cut_short:
            self._calls.drop(calls)
            if not is_cut_short:
                self._check_demand(at)
            if stop is not None:
                self._hearing.tell(stop)
            return False
        if at.is_last:
            raise _endless()
        self._hearing.tell(RoundEnd())
        await self._calls.serve(calls, self._said_from)
        self._number += 1
        await self._hearing.keep_up()
        return True

    def _next(self) -> Round:
        request, used = self._request, self._tally.used
        most_tokens, most_calls = request.max_output_tokens, request.max_tool_calls
        return Round(
            number=self._number,
            tokens_left=None if most_tokens is None else most_tokens - used.output_tokens,
            calls_left=None if most_calls is None else max(0, most_calls - self._emitter.told_calls),
            is_last=self._number >= settings.MAX_TOOL_ROUNDS,
        )

    async def _ask(self, at: Round) -> tuple[list[Request], Stop | None]:
        """The calls that are to be run of the model's answer, and why it ended."""
        job, told = self.served, self._emitter.told_items
        job = round_job(job, self._toolbox, told, await self._serving.policies_now(job), at)
        job = await self._provision.hold(job, self._tally.used)
        self._hearing.go_on(Failover(job, self._backends, has_told=self._has_told or at.number > 0))
        collector = Collector(
            self._toolbox.tools,
            at.number,
            collected=self._collected,
            summed=self._tally.told_with,
            citing=self._citing,
        )
        self._collector, self._said_from = collector, len(told)
        await self._hearing.hear(collector)
        await self._count(collector, self._emitter.record["output"])
        self._collected.clear()
        calls = [
            Request((at.number, place, "served"), self._toolbox.tools[call.name], str(call.arguments) or "{}")
            for place, call in enumerate(collector.calls)
        ]
        return calls, collector.stop

    async def _count(self, collector: Collector, output: Sequence[Json]) -> None:
        """Add what a round used, once."""
        self._collector = None
        asked = self._hearing.accepted
        if asked is None:
            return
        called = [
            {"type": "function_call", "name": call.name, "arguments": str(call.arguments)}
            for call in collector.calls
        ]
        is_last = collector.stop is not None or collector.is_usage_last
        said = [*said_by_model(output[self._said_from :], is_ours), *called]
        await self._tally.add(asked, said, collector.usage, is_last=is_last)

    def _check_demand(self, at: Round) -> None:
        """A tool that the request demands must be called, if only once."""
        choice = self._request.tool_choice
        if at.number == 0 and demands_served(choice, self._toolbox.types):
            raise model_error(
                "The model did not call the tool that the request's 'tool_choice' demands.",
                code="tool_call_missing",
            )

    def _is_answered(self) -> bool:
        """Whether it is the client's turn: to run its own functions, or to say what may be run."""
        return any(
            item["type"] == "function_call" or canonical_type(item["type"]) == MCP_APPROVAL_REQUEST
            for item in self._emitter.told_items
        )


def _listed(place: int, item: Json) -> tuple[Receipt, Receipt]:
    """The receipt of a server's tools: announced and done at once."""
    key, step = ("listed", place), "failed" if item.get("error") else "completed"
    begun = {**item, "tools": [], "error": None}
    return Receipt(key, begun, "in_progress"), Receipt(key, item, step, is_done=True)


def _endless() -> ProtocolError:
    return model_error(
        f"The model went on to call tools after {settings.MAX_TOOL_ROUNDS} rounds (ANTIPHON_MAX_TOOL_ROUNDS).",
        code="too_many_rounds",
    )
