"""What a round asks its model: the job of the response with what was told so far, its tools as functions. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from responses_api.protocol.errors import model_error
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy, denying, judge_all
from workers.tools.choosing import Offer, first_choice, is_unmet, later_choice
from workers.tools.toolbox import Served, Toolbox

LEAST_OUTPUT: Final = 16
"""The least that an answer may be limited to (specification: `max_output_tokens`): with less left there is no round."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round: its `number` from 0, how many tokens and calls are `left` for it and what follows (None: any number),
    and whether it must be the last, in which nothing may be called.
    """

    number: int
    tokens_left: int | None
    calls_left: int | None
    is_last: bool


def round_job(job: Job, toolbox: Toolbox, told: Sequence[Json], policies: Sequence[Policy], at: Round) -> Job:
    """The job of a round: `told` are the output items so far. Tools that the policies deny are not offered.

    Raises `ProtocolError` where the request demands a call of a tool that could not be offered.
    """
    request = job.request
    tools = [tool for tool in toolbox.tools.values() if not _is_denied(tool, policies, request)]
    others = [tool for tool in request["tools"] if tool["type"] not in toolbox.types]
    offered = others + [tool.function for tool in tools]
    choice = _choice(request["tool_choice"], Offer(tools, toolbox.types), offered, at)
    asked = {
        **request,
        "tools": offered,
        "tool_choice": choice if offered else "auto",
        "max_output_tokens": at.tokens_left,
        "max_tool_calls": at.calls_left or None,
    }
    return replace(job, request=asked, input_items=[*job.input_items, *told])


def _choice(choice: str | Json, served: Offer, offered: Sequence[Json], at: Round) -> str | Json:
    if at.is_last or at.calls_left == 0:
        return "none"
    if at.number:
        return later_choice(choice, served)
    mapped = first_choice(choice, served)
    if is_unmet(choice, mapped, offered):
        raise model_error(
            "The request's 'tool_choice' demands a call of a tool that could not be offered to the model.",
            code="tool_call_missing",
        )
    return mapped


def _is_denied(tool: Served, policies: Sequence[Policy], request: Json) -> bool:
    return bool(denying(judge_all(policies, tool.offered.tool, request["model"])))
