"""Whether a call of a tool that the service runs may be run: judged when it is made, by the request that it is made for
and by the tool policies in force then. Pure.

`admission` judges the calls that the client runs, before anybody is told of them; here the client is told in any case,
by a receipt, and so is the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from responses_api.protocol.admission import (
    CallAdmission,
    Judgement,
    not_allowed,
    refused_by_choice,
    refused_by_order,
    refused_by_policies,
    refused_by_request,
)
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy, Verdict, demanding_approval, denying, judge_all, suppresses
from responses_api.protocol.request import CreateRequest
from workers.items import is_whole_object
from workers.tools.choosing import leaves
from workers.tools.toolbox import Served

Fate = Literal["run", "approval", "refused"]


_TO_BE_APPROVED: Final = (
    "Not run: a rule by which its client must approve it came into force while it waited."
)


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is to become of a call. `why` says why it is refused, `error` what the response then fails with: None where
    the model is told, and the response goes on. `verdicts` are those that let it or refuse it.
    """

    fate: Fate
    verdicts: tuple[Verdict, ...] = ()
    why: str = ""
    error: ProtocolError | None = None


@dataclass(frozen=True, slots=True)
class Before:
    """The calls before one: how many there were in the response, and the names of those in the same round."""

    count: int
    beside: Sequence[str] = ()


def judge(
    tool: Served,
    arguments: str,
    request: CreateRequest,
    policies: Sequence[Policy],
    before: Before,
    *,
    is_approved: bool = False,
) -> Ruling:
    """Judge one call. With `is_approved` its client has allowed it."""
    if not is_whole_object(arguments):
        return Ruling("refused", why="The arguments are not a JSON object.")
    verdicts = judge_all(policies, tool.offered.tool, request.model)
    if refusing := denying(verdicts):
        return _refused(tool.name, refusing, policies)
    if not is_approved and not leaves(request.tool_choice, tool):
        return _refused(tool.name, (refused_by_choice(tool.name),), policies)
    beyond = _beyond(tool.name, request, policies, before)
    if beyond is not None:
        return beyond
    wants_approval = tool.offered.wants_approval or bool(demanding_approval(verdicts))
    return Ruling("approval" if wants_approval and not is_approved else "run", verdicts)


def judge_again(tool: Served, model: str, policies: Sequence[Policy], *, is_approved: bool) -> Ruling:
    """Judge a call that was let and told, but then had to wait before it could be run: by the policies of that moment.

    It is too late to ask its client: one that has to be approved by now is refused.
    """
    verdicts = judge_all(policies, tool.offered.tool, model)
    if refusing := denying(verdicts):
        return _refused(tool.name, refusing, policies)
    if not is_approved and demanding_approval(verdicts):
        return Ruling("refused", verdicts, _TO_BE_APPROVED)
    return Ruling("run", verdicts)


def _beyond(name: str, request: CreateRequest, policies: Sequence[Policy], before: Before) -> Ruling | None:
    """The refusal of one call more than there may be. What the request itself says of numbers the model is told."""
    ignored = refused_by_order(
        name, before.beside, is_parallel=request.parallel_tool_calls
    ) or refused_by_request(name, before.count, request.max_tool_calls)
    if ignored:
        return Ruling("refused", ignored, ignored[0].why)
    verdicts = refused_by_policies(policies, before.count)
    return _refused(name, verdicts, policies) if verdicts else None


def _refused(name: str, verdicts: tuple[Verdict, ...], policies: Sequence[Policy]) -> Ruling:
    error = None if suppresses(policies, verdicts) else not_allowed(name, verdicts[0])
    return Ruling("refused", verdicts, " ".join(verdict.why for verdict in verdicts), error)


@dataclass(frozen=True, slots=True)
class Beside:
    """The admission of the client's own calls where the service runs others: `collected` are the names of those in the
    round that is told now, which count, too.
    """

    admission: CallAdmission
    collected: Sequence[str]

    @property
    def may_suppress(self) -> bool:
        """Whether any refused call may be left out."""
        return self.admission.may_suppress

    def judge(self, name: str, called: Sequence[str], ran: int = 0) -> Judgement:
        """As `CallAdmission.judge`."""
        return self.admission.judge(name, [*self.collected, *called], ran)

    def judge_item(self, item: Json, told: int) -> Judgement:
        """As `CallAdmission.judge_item`."""
        return self.admission.judge_item(item, told + len(self.collected))

    def check_finished(self, called: Sequence[str], refused: Sequence[str] = ()) -> None:
        """As `CallAdmission.check_finished`."""
        self.admission.check_finished(called, refused)
