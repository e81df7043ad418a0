"""The property test of the counters finds faults: planted here one at a time, each in a script that counts."""

import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from responses_api.quotas import gate, rebuilding, scripts, settling
from tenants.limits import LimitSpec
from tests.integration.quotas.test_counting import KEYS, MODELS, START, Counting

QUICK = settings(
    max_examples=400,
    stateful_step_count=40,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
TOKENS_OF_A_DAY = LimitSpec(
    id=uuid.UUID(int=3),
    key_id=None,
    model="",
    metric="tokens_per_day",
    amount=100,
    is_hard=True,
    set_by="tenant",
)
FAULTS = {
    "settles what was settled": (
        settling,
        "SETTLE",
        scripts._SETTLE,
        "    redis.call('HDEL', KEYS[2], id)\n",
        "",
    ),
    "gives no place back": (
        settling,
        "SETTLE",
        scripts._SETTLE,
        "then change = -1 end",
        "then change = 0 end",
    ),
    "gives no tokens back": (
        settling,
        "SETTLE",
        scripts._SETTLE,
        "amount(now, letter) - amount(mine, letter)",
        "amount(now, letter)",
    ),
    "counts on after a reservation was lost": (
        settling,
        "SETTLE",
        scripts._SETTLE,
        "    redis.call('HDEL', KEYS[1], unpack(scopes_of(ARGV[i + 4], ARGV[i + 5])))\n",
        "",
    ),
    "passes a limit by one": (gate, "RESERVE", scripts._RESERVE, "> most then", "> most + 1 then"),
    "holds no limit but the first": (
        gate,
        "RESERVE",
        scripts._RESERVE,
        "if is_hard and",
        "if check == 1 and is_hard and",
    ),
    "forgets what was settled while it counted": (
        rebuilding,
        "FINISH",
        scripts._FINISH,
        "    add(parsed(text), false)\n",
        "",
    ),
    "forgets what is reserved": (
        rebuilding,
        "FINISH",
        scripts._FINISH,
        "for _, text in ipairs(redis.call('HVALS', KEYS[2])) do add(parsed(text), true) end\n",
        "",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_script_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, text, right, wrong = FAULTS[fault]
    assert text.count(right) == 1, "the script has changed: plant the fault anew"
    monkeypatch.setattr(module, name, scripts.Script(text.replace(right, wrong)))
    with pytest.raises(AssertionError) as found:
        look_for_faults()
    assert is_of_the_machine(found), "it failed for another reason"


def test_the_walk_finds_nothing_where_there_is_no_fault() -> None:
    walk()


def look_for_faults() -> None:
    """What the test of the counters does, after a walk that it may not come to in so few examples."""
    walk()
    run_state_machine_as_test(Counting, settings=QUICK)


class Chosen:
    """Draws what it was given, in its order."""

    def __init__(self, *values: Any) -> None:
        self._values = iter(values)

    def draw(self, strategy: Any) -> Any:
        """The next one."""
        return next(self._values)


def walk() -> None:
    """The two ways that chance seldom goes: settled between the look at the ledger and the count, and after a loss."""
    machine = Counting()
    machine.begin_with_limits([TOKENS_OF_A_DAY])
    try:
        for _ in range(2):
            machine.ask(KEYS[0], MODELS[0], START, 5, 3)
        first, second = machine.runs
        machine.end(Chosen(first), 7, 2)
        machine.begin_to_count(START)
        machine.look_at_the_ledger()
        machine.settle(Chosen([first]))
        machine.finish_counting()
        machine.what_is_counted_is_right()
        machine.end_what_valkey_forgot(Chosen(second, [second]), START, 7, 2)
        machine.what_is_counted_is_right()
    finally:
        machine.teardown()


def is_of_the_machine(found: "pytest.ExceptionInfo[Any]") -> bool:
    """Whether a claim of the machine's failed, and not something on the way to it."""
    return str(found.traceback[-1].path).endswith("test_counting.py")
