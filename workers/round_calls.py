"""The calls of one response that the service runs: those that its client has allowed, and those of each round. All are
judged by what is in force when they are made, and told before any of them runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from django.conf import settings

from responses_api.protocol.approvals import Answered, approvals
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy
from responses_api.protocol.receipts import mcp_call
from responses_api.protocol.request import CreateRequest
from responses_api.services.database import in_database
from responses_api.services.hosted import is_ours
from workers.backends.parts import Receipt
from workers.emitter import Emitter
from workers.hearing import Hearing
from workers.judging import Before, Ruling, judge, judge_again
from workers.serving import Serving
from workers.tool_calls import Request, ToolCalls
from workers.tools.citing import Citing
from workers.tools.toolbox import Toolbox

_CUT: Final = "Not run: the model's answer was cut short."
_GONE: Final = "The tool is not offered any more."
_USED: Final = "Not run: another response has used its approval."
_NOT_ALONE: Final = "Not run: another call beside it is not allowed."


class RoundCalls:
    """`emitter` knows what was told so far, `hearing` tells what becomes of the calls. `serving` knows the policies of
    the moment, and which approvals were used; `citing` learns what the calls have found.
    """

    def __init__(
        self,
        job: Job,
        request: CreateRequest,
        *,
        hearing: Hearing,
        emitter: Emitter,
        serving: Serving,
        citing: Citing,
    ) -> None:
        self._job = job
        self._request = request
        self._hearing = hearing
        self._emitter = emitter
        self._serving = serving
        self._calls = ToolCalls(
            hearing.tell,
            settings.TOOL_SECONDS,
            citing,
            settings.MAX_TOOL_RESULTS_BYTES,
            self._judged_again,
        )

    def take_up(self, told: Iterable[Json]) -> None:
        """What an attempt before this one told takes of the room that results have."""
        self._calls.count(item for item in told if is_ours(item["type"]))

    def drop(self, calls: Iterable[Request]) -> None:
        """Tell of calls that they are not run: the answer that they are of was cut short."""
        for call in calls:
            self._calls.refuse(call, _CUT)

    async def serve(self, calls: Sequence[Request], said_from: int) -> None:
        """Judge the calls of a round, ask the client for those that it must allow, and run those that may be. What the
        model said beside them is told from the item at `said_from` on. Raises `ProtocolError`.
        """
        judged = self._judged(calls, said_from, await self._serving.policies_now(self._job))
        # Before anything is told of them: then it is clear that none was run.
        self._emitter.check_room(len(judged))
        self._fail_where_refused(judged)
        to_run: list[Request] = []
        for call, ruling in judged:
            if ruling.fate == "refused":
                self._calls.refuse(call, ruling.why)
            elif ruling.fate == "approval":
                self._calls.ask(call)
            else:
                self._calls.announce(call)
                to_run.append(call)
        self._hearing.note(len(to_run))
        await self._calls.run(to_run)

    async def run_approved(self, toolbox: Toolbox) -> None:
        """Run what the client has allowed, before the model is asked. Raises `ProtocolError`."""
        conversation = [*self._job.context, *self._emitter.told_items]
        calls: list[Request] = []
        for answer in approvals(conversation).to_run(len(self._job.history)):
            self._hearing.begin()
            call = self._approved(answer, toolbox)
            if call is None:
                continue
            if await in_database(
                self._serving.claim, UUID(self._job.tenant_id), answer.key, self._job.response_id
            ):
                calls.append(call)
            else:
                self._calls.refuse(call, _USED)
        if calls:
            await self.serve(calls, 0)

    def _judged(
        self, calls: Sequence[Request], said_from: int, policies: Sequence[Policy]
    ) -> list[tuple[Request, Ruling]]:
        """Each call with its ruling. What the client runs of the same round was before them."""
        said = self._emitter.told_items[said_from:]
        beside = [item["name"] for item in said if item["type"] == "function_call"]
        count = self._emitter.told_calls
        judged = []
        for call in calls:
            ruling = judge(
                call.tool,
                call.arguments,
                self._request,
                policies,
                Before(count, beside),
                is_approved=call.approval_id is not None,
            )
            if ruling.fate != "refused":
                count += 1
                beside.append(call.tool.name)
            judged.append((replace(call, verdicts=ruling.verdicts), ruling))
        return judged

    async def _judged_again(self, call: Request) -> Ruling:
        policies = await self._serving.policies_now(self._job)
        is_approved = call.approval_id is not None
        return judge_again(call.tool, self._request.model, policies, is_approved=is_approved)

    def _fail_where_refused(self, judged: Sequence[tuple[Request, Ruling]]) -> None:
        """End the response where a call is not allowed and a policy wants that: then none is run."""
        error = next((ruling.error for _, ruling in judged if ruling.error is not None), None)
        if error is None:
            return
        for call, ruling in judged:
            self._calls.refuse(call, ruling.why or _NOT_ALONE)
        raise error

    def _approved(self, answer: Answered, toolbox: Toolbox) -> Request | None:
        """The call that was allowed; None, and a receipt that says so, where nobody knows its tool any more."""
        asked, key = answer.request, ("approved", answer.key)
        tool = toolbox.find(asked["server_label"], asked["name"])
        if tool is not None:
            return Request(key, tool, asked["arguments"], approval_id=answer.key)
        label, name, arguments = asked["server_label"], asked["name"], asked["arguments"]
        item = mcp_call(label, name, arguments, "failed", error=_GONE, approval_request_id=answer.key)
        self._hearing.tell(
            Receipt(key, item, "in_progress", called=asked["name"]),
            Receipt(key, item, "failed", is_done=True),
        )
        return None
