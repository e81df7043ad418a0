"""The suite's machinery: rules are registered, selected, run and told."""

import asyncio
import re

import pytest

from responses_api.conformance import rules as _rules  # noqa: F401  (registers them)
from responses_api.conformance.outcomes import Broken, NotApplicable, NotShown
from responses_api.conformance.registry import SECTIONS, Demand, Rule, rule, select
from responses_api.conformance.report import as_json, as_table, failures
from responses_api.conformance.runner import Result, run
from responses_api.conformance.server import Server, Target
from responses_api.conformance.wire import Answer

TARGET = Target("http://127.0.0.1:9/v1", "sk-secret", "some-model")


def of(check: object, name: str = "x.y", demand: Demand = "must") -> Rule:
    return Rule(name, "Something holds.", "Errors", demand, check)  # type: ignore[arg-type]


async def keeps(server: Server) -> None:
    server.see(Answer("GET /x", b"", 200, {}, b"fine", None))


async def breaks(server: Server) -> None:
    server.see(Answer("GET /x", b"asked", 200, {}, b"a" * 2000, None))
    raise Broken("it does not hold")


async def lacks(server: Server) -> None:
    raise NotApplicable("there is none")


async def hides(server: Server) -> None:
    raise NotShown("the model did not")


async def stumbles(server: Server) -> None:
    raise KeyError("output")


async def calls(server: Server) -> None:
    await server.get("/models")


def results() -> list[Result]:
    checks = [keeps, breaks, lacks, hides, stumbles, calls]
    return asyncio.run(run(TARGET, [of(check, f"x.{check.__name__}") for check in checks], jobs=2))


def test_each_end_of_a_rule_is_told_apart() -> None:
    verdicts = {result.rule.id: result.verdict for result in results()}
    assert verdicts == {
        "x.keeps": "pass",
        "x.breaks": "fail",
        "x.lacks": "not applicable",
        "x.hides": "not shown",
        "x.stumbles": "fail",
        "x.calls": "fail",
    }


def test_a_failure_is_told_with_its_exchange_and_without_the_key() -> None:
    table = as_table(results())
    assert "it does not hold" in table
    assert "> asked" in table
    assert "…(1400 characters)…" in table
    assert "sk-secret" not in table
    assert "1 pass, 3 fail, 1 not applicable, 1 not shown" in table
    told = as_json(TARGET, results())
    assert told["summary"]["must"] == {"pass": 1, "fail": 3, "not applicable": 1, "not shown": 1}
    assert "sk-secret" not in str(told)


@pytest.mark.parametrize(("demand", "counts"), [("must", True), ("should", False), ("extension", False)])
def test_only_what_is_demanded_counts_unless_all_is_to(demand: Demand, counts: bool) -> None:
    found = asyncio.run(run(TARGET, [of(breaks, demand=demand)]))
    assert bool(failures(found, strict=False)) is counts
    assert failures(found, strict=True)


def test_what_several_rules_look_at_is_fetched_once() -> None:
    fetched: list[int] = []

    async def fetch(server: Server) -> int:
        fetched.append(1)
        await asyncio.sleep(0)
        return 1

    async def look(server: Server) -> None:
        await server.once("it", fetch)

    asyncio.run(run(TARGET, [of(look, f"x.{number}") for number in range(5)], jobs=5))
    assert fetched == [1]


def test_what_the_run_has_seen_is_judged_last() -> None:
    seen: list[str] = []

    async def last(server: Server) -> None:
        seen.append("last")

    async def first(server: Server) -> None:
        await asyncio.sleep(0)
        seen.append("first")

    asyncio.run(run(TARGET, [of(last, "run.x"), of(first)]))
    assert seen == ["first", "last"]


def test_every_rule_is_told_properly() -> None:
    chosen = select()
    assert len({one.id for one in chosen}) == len(chosen)
    for one in chosen:
        assert re.fullmatch(r"[a-z-]+\.[a-z-]+", one.id)
        assert one.sentence.endswith(".")
        assert one.section in SECTIONS


def test_rules_are_selected_by_id_and_by_topic() -> None:
    assert [one.id for one in select(["framing.done"])] == ["framing.done"]
    assert {one.topic for one in select(["framing", "errors"])} == {"framing", "errors"}
    with pytest.raises(ValueError, match="no\\.such"):
        select(["no.such"])


def test_a_rule_needs_an_id_of_its_own_and_a_section_that_exists() -> None:
    with pytest.raises(ValueError, match="two rules"):
        rule("framing.done", "Again.", section="Errors")(keeps)
    with pytest.raises(ValueError, match="no section"):
        rule("framing.new", "New.", section="Weather")(keeps)
