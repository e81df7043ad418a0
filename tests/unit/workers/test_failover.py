"""Asking one target after the other: what is held back, what goes on, and what the client is told in the end."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.errors import (
    ProtocolError,
    invalid_request,
    model_error,
    overloaded,
    too_many_requests,
)
from responses_api.protocol.job import Job
from responses_api.protocol.target import Target
from tests.unit.workers.builders import make_job
from workers.backends.parts import Part, StateReport, Stop, TextDelta, UsageReport
from workers.failover import Failover, most_useful
from workers.faults import FAILED

TEXT, USAGE, STOP = TextDelta("t", "Hi"), UsageReport(7, 0), Stop("stop")
Script = list[list[Part] | Exception]
ERRORS = st.sampled_from(
    [
        model_error("x"),
        model_error("x", code="upstream_timeout"),
        overloaded("x", None),
        overloaded("x", 30),
        too_many_requests("x", retry_after=7),
        too_many_requests("x"),
        invalid_request("x", code="unsupported_value"),
        invalid_request("x", code="context_length_exceeded"),
    ]
)


def job_with(*names: str) -> Job:
    """A job whose targets have these names."""
    job = make_job()
    targets = [
        Target({**job.backend, "name": name}, f"{name}-model", None, None, place)
        for place, name in enumerate(names)
    ]
    return job.among(targets)


class Asked:
    """Targets that say what was written for them; who was asked, and who was left before the end."""

    def __init__(self, **scripts: Script) -> None:
        self.scripts = scripts
        self.asked: list[str] = []
        self.closed: list[str] = []

    async def ask(self, job: Job) -> AsyncGenerator[list[Any], None]:
        self.asked.append(job.backend["name"])
        assert job.upstream_model == f"{job.backend['name']}-model"
        return self._say(job.backend["name"])

    async def _say(self, name: str) -> AsyncGenerator[list[Any], None]:
        try:
            for said in self.scripts[name]:
                if isinstance(said, Exception):
                    raise said
                yield said
        finally:
            self.closed.append(name)


async def heard(failover: Failover, ask: Callable[[Job], Awaitable[Any]]) -> list[list[Any]]:
    async with aclosing(await failover.answer(ask)) as answer:
        return [parts async for parts in answer]


async def test_what_a_failed_target_said_before_its_first_part_is_not_heard() -> None:
    asked = Asked(a=[[], [USAGE], model_error("x")], b=[[], [TEXT], [USAGE, STOP]])
    failover = Failover(job_with("a", "b"), None)
    assert await heard(failover, asked.ask) == [[], [TEXT], [USAGE, STOP]]
    assert (asked.asked, asked.closed) == (["a", "b"], ["a", "b"])
    assert failover.job.backend["name"] == "b"
    assert [entry["backend"] for entry in failover.tried] == ["a"]


async def test_what_it_said_before_its_first_part_comes_with_it() -> None:
    asked = Asked(a=[[], [USAGE], [TEXT], [STOP]])
    assert await heard(Failover(job_with("a", "b"), None), asked.ask) == [[USAGE, TEXT], [STOP]]


async def test_state_alone_is_no_word_of_an_answer() -> None:
    state = StateReport({"response": "up_1"})
    asked = Asked(a=[[], [state], model_error("x")], b=[[state], [TEXT], [STOP]])
    assert await heard(Failover(job_with("a", "b"), None), asked.ask) == [[state], [TEXT], [STOP]]
    asked = Asked(a=[[], [state], [TEXT], [STOP]])
    assert await heard(Failover(job_with("a", "b"), None), asked.ask) == [[state, TEXT], [STOP]]


async def test_an_answer_that_says_nothing_but_its_end_is_one() -> None:
    asked = Asked(a=[[], [STOP]])
    assert await heard(Failover(job_with("a", "b"), None), asked.ask) == [[STOP]]


async def test_after_the_first_part_its_error_is_the_answers() -> None:
    asked = Asked(a=[[], [TEXT], overloaded("x")])
    failover = Failover(job_with("a", "b"), None)
    with pytest.raises(ProtocolError, match="x"):
        await heard(failover, asked.ask)
    assert (asked.asked, failover.tried) == (["a"], [])


async def test_a_fault_of_ours_at_one_target_is_no_end_and_at_all_of_them_is_told_as_one() -> None:
    asked = Asked(a=[KeyError("content")], b=[[TEXT], [STOP]])
    assert await heard(Failover(job_with("a", "b"), None), asked.ask) == [[TEXT], [STOP]]
    asked = Asked(a=[KeyError("content")], b=[LookupError("content")])
    with pytest.raises(ProtocolError) as failed:
        await heard(Failover(job_with("a", "b"), None), asked.ask)
    assert failed.value.to_plain() == FAILED.to_plain()
    assert FAILED.__traceback__ is None, "it would keep what every request held"


async def test_who_stops_listening_leaves_the_target_and_asks_no_other() -> None:
    asked = Asked(a=[[TEXT], [TEXT], [STOP]])
    async with aclosing(await Failover(job_with("a", "b"), None).answer(asked.ask)) as answer:
        await anext(answer)
    assert (asked.asked, asked.closed) == (["a"], ["a"])


async def test_who_told_a_part_before_is_asked_first() -> None:
    asked = Asked(a=[[TEXT], [STOP]], b=[[TEXT], [STOP]])
    given = job_with("a", "b")
    given = replace(given, backend=given.targets[1]["backend"], upstream_model="b-model")
    await heard(Failover(given, None, has_told=True), asked.ask)
    await heard(Failover(given, None), asked.ask)
    assert asked.asked == ["b", "a"]


async def test_a_single_target_is_asked_as_it_is() -> None:
    said: list[Job] = []

    async def ask(job: Job) -> AsyncGenerator[list[Any], None]:
        said.append(job)
        return Asked(test=[[], [TEXT]])._say("test")

    job = make_job()
    assert await heard(Failover(job, None), ask) == [[], [TEXT]]
    assert said == [job]


@given(st.lists(ERRORS, min_size=1, max_size=5))
def test_the_most_useful_error_says_when_to_come_back_soonest(errors: list[ProtocolError]) -> None:
    told = most_useful(errors)
    waits = [error.retry_after or 1 for error in errors if error.status in (429, 503)]
    failures = [error for error in errors if error.type == "model_error"]
    if waits:
        assert told.status in (429, 503)
        assert (told.retry_after or 1) == min(waits)
    elif failures:
        assert told is failures[0]
    else:
        assert told is errors[0]
