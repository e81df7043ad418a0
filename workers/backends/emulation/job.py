"""The job that a wrapped adapter maps: no tools in it, but words, and a schema that the answer is held to.

| part of the job | becomes |
| --- | --- |
| `tools`, `tool_choice`, `parallel_tool_calls`, `max_tool_calls` | instructions, and the turns that the schema admits |
| `text.format` of its own | the schema of the answer in a turn |
| function calls and their outputs in the conversation | what the assistant wrote, and what the user says of it |
| calls in the conversation, and no tools or `tool_choice: none` | the same, and a schema that admits an answer alone |
| `top_logprobs` | refused: the tokens of a turn are not those of its answer |
| tools of a vendor's type | refused: nobody knows how they are called |

A job without tools, and without calls before it, stays as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from responses_api.protocol.admission import call_admission
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from workers.backends.emulation.conversation import has_calls, retell
from workers.backends.emulation.schema import MOST_AT_ONCE, TEXT, turn_schema
from workers.backends.emulation.wording import describe
from workers.backends.logprobs import asks_for_logprobs
from workers.backends.refusals import other_tool, unsupported

_OBJECT: Final[Json] = {"type": "object"}
_FORMAT: Final = "turn"


@dataclass(frozen=True, slots=True)
class Emulated:
    """A job without tools, and where the items of its new input are in the request (see `Retold.places`)."""

    job: Job
    places: Sequence[int]


def takes_turns(job: Job) -> bool:
    """Whether the answer is a turn: there are tools that may be called, or were."""
    return _offers(job.request) or has_calls(job.context)


def wants_json(job: Job) -> bool:
    """Whether what a turn answers is JSON of the request's own, and no string."""
    return bool(job.request["text"]["format"]["type"] != "text")


def emulated(job: Job) -> Emulated:
    """The job in words. Raises `ProtocolError` 400 for what cannot be put into them."""
    if not takes_turns(job):
        return Emulated(_without_tools(job, {}), range(len(job.input_items)))
    _refuse_what_cannot_be(job.request)
    turn = _Turn(job)
    told = retell(job.history, job.input_items)
    words = turn.words(has_results=told.ends_with_results)
    changed = {
        "instructions": "\n\n".join(filter(None, (job.request["instructions"], words))),
        "text": {**job.request["text"], "format": turn.form()},
    }
    retold = replace(job, history=told.history, input_items=told.input_items)
    return Emulated(_without_tools(retold, changed), told.places)


def heard(job: Job) -> Job:
    """The job as far as it says how its answer is to be read: without tools, in the form of the turn."""
    if not takes_turns(job):
        return _without_tools(job, {})
    return _without_tools(job, {"text": {**job.request["text"], "format": _Turn(job).form()}})


class _Turn:
    """What the next turn may be."""

    def __init__(self, job: Job) -> None:
        request = job.request
        form = request["text"]["format"]
        rules = call_admission(CreateRequest.from_plain(request))
        may_call = rules.most != 0
        self.tools: Sequence[Json] = request["tools"] if _offers(request) else []
        self.allowed = [tool for tool in self.tools if may_call and tool["name"] in rules.allowed]
        self.is_json = wants_json(job)
        self.most = MOST_AT_ONCE if rules.most is None else min(rules.most, MOST_AT_ONCE)
        if not rules.is_parallel or _names_one(request["tool_choice"]):
            self.most = 1
        answer = TEXT if not self.is_json else form.get("schema") or _OBJECT
        self.answer: Json | None = None if rules.must_call and self.allowed else answer

    def words(self, *, has_results: bool) -> str:
        """What the model is told."""
        return describe(
            self.tools,
            self.allowed,
            answer=self.answer,
            is_json=self.is_json,
            most=self.most,
            has_results=has_results,
        )

    def form(self) -> Json:
        """What its answer is held to."""
        schema = turn_schema(self.answer, self.allowed, self.most)
        return {"type": "json_schema", "name": _FORMAT, "description": None, "schema": schema, "strict": True}


def _offers(request: Json) -> bool:
    return bool(request["tools"]) and request["tool_choice"] != "none"


def _names_one(choice: str | Json) -> bool:
    return isinstance(choice, dict) and choice["type"] == "function"


def _without_tools(job: Job, changed: Json) -> Job:
    none: Json = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "max_tool_calls": None}
    return replace(job, request={**job.request, **none, **changed})


def _refuse_what_cannot_be(request: Json) -> None:
    for index, tool in enumerate(request["tools"]):
        if tool["type"] != "function":
            raise other_tool(tool, f"tools[{index}]")
    if (asked := asks_for_logprobs(request)) is not None:
        raise unsupported(
            "Log probabilities cannot be had together with tools from this model's backend, which emulates tools.",
            asked,
        )
