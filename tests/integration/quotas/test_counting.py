"""The counters against a simple model, whatever the order of reserving, settling, giving back, losing, making anew."""

import asyncio
import uuid
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from responses_api.eventlog.connection import asyncio_client, blocking_client
from responses_api.quotas import names, settling
from responses_api.quotas.counters import HOMES, RUNNING, Reservation, checks, needed, scopes_of
from responses_api.quotas.gate import Decision, reserve
from responses_api.quotas.rebuilding import Looked, begin, finish, windows_for
from tenants.ledger import Entry, Sum
from tenants.limits import LimitSpec
from tenants.windows import window

VALKEY: Any = blocking_client()
KEYS = (uuid.UUID(int=1), uuid.UUID(int=2))
MODELS = ("small", "a model with spaces")
START = 1_800_000_000 - 1_800_000_000 % 60
"""The beginning of a minute."""
METRICS = (
    "requests_per_minute",
    "tokens_per_minute",
    "concurrent_responses",
    "tokens_per_day",
    "cost_per_month",
)
MOST = 2**53 - 1
AMOUNTS = st.sampled_from([0, 1, 5, 20, MOST])
TIMES = st.sampled_from([START, START + 59, START + 60])

limits = st.lists(
    st.builds(
        LimitSpec,
        id=st.uuids(),
        key_id=st.sampled_from([None, *KEYS]),
        model=st.sampled_from(["", *MODELS]),
        metric=st.sampled_from(METRICS),
        amount=AMOUNTS,
        is_hard=st.booleans(),
        set_by=st.just("tenant"),
    ),
    min_size=1,
    max_size=6,
)


class Counting(RuleBasedStateMachine):
    """The scripts on one side; on the other what is open and what the ledger has."""

    def __init__(self) -> None:
        super().__init__()
        self.tenant_id = uuid.uuid4()
        self.prefix = names.prefix(self.tenant_id)
        self.limits: list[LimitSpec] = []
        self.asked = self.nanos = 0
        self.runs: dict[str, Reservation] = {}
        """Admitted and not ended."""
        self.ledger: dict[str, Entry] = {}
        self.unsettled: set[str] = set()
        """In the ledger, and Valkey has not been told."""
        self.building: tuple[str, dict[str, str], Looked | None, list[str], int] | None = None

    @initialize(given=limits)
    def begin_with_limits(self, given: list[LimitSpec]) -> None:
        self.limits = given

    @rule(given=limits)
    def change_the_limits(self, given: list[LimitSpec]) -> None:
        self.limits = given

    @rule(
        key_id=st.sampled_from(KEYS),
        model=st.sampled_from(MODELS),
        at=TIMES,
        tokens=st.integers(0, 12),
        nanos=st.sampled_from([0, 3, MOST]),
    )
    def ask(self, key_id: uuid.UUID, model: str, at: int, tokens: int, nanos: int) -> None:
        # Together they stay what Lua counts exactly; the last one fills it to the brim.
        nanos = min(nanos, MOST - self.nanos)
        self.nanos += nanos
        # Counted, not drawn by chance: what is drawn from the ids in their order must be drawn again in a second run.
        self.asked += 1
        mine = Reservation(f"resp_{self.asked:032x}", self.tenant_id, key_id, model, at, tokens, nanos)
        asked = checks(self.limits, key_id, model, at)
        if not asked:
            # Without limits nobody is asked. It uses something all the same.
            self.runs[mine.response_id] = mine
            return
        decision = asyncio.run(ask_the_gate(mine, asked))
        if self.building is not None:
            assert decision.answer == "wait"
            return
        if decision.answer == "count":
            letters = needed(asked)
            assert finish_at_once(self, letters, at)
            decision = asyncio.run(ask_the_gate(mine, asked))
        has_room = all(
            not check.limit.is_hard or value + mine.amount(check.letter) <= check.amount
            for check, value in zip(asked, decision.used, strict=True)
        )
        assert decision.answer == ("reserved" if has_room else "refused")
        if decision.answer == "reserved":
            self.runs[mine.response_id] = mine

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), tokens=st.integers(0, 12), nanos=st.integers(0, 5))
    def end(self, data: st.DataObject, tokens: int, nanos: int) -> None:
        response_id = data.draw(st.sampled_from(sorted(self.runs)))
        mine = self.runs.pop(response_id)
        nanos = min(nanos, mine.nanos + MOST - self.nanos)
        self.nanos += max(0, nanos - mine.nanos)
        self.ledger[response_id] = Entry(
            response_id,
            mine.tenant_id,
            mine.key_id,
            mine.model,
            "completed",
            mine.created_at,
            mine.created_at,
            output_tokens=tokens,
            cost_nanos=nanos,
        )
        self.unsettled.add(response_id)

    @precondition(lambda self: self.unsettled)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        some = data.draw(st.lists(st.sampled_from(sorted(self.unsettled)), unique=True, min_size=1))
        settling.settle([self.ledger[response_id] for response_id in some])
        self.unsettled -= set(some)

    @precondition(lambda self: self.ledger)
    @rule(data=st.data())
    def settle_again(self, data: st.DataObject) -> None:
        response_id = data.draw(st.sampled_from(sorted(set(self.ledger))))
        settling.settle([self.ledger[response_id]])
        self.unsettled.discard(response_id)

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        settling.release(self.runs.pop(data.draw(st.sampled_from(sorted(self.runs)))))

    @rule()
    def lose_valkey(self) -> None:
        forget(self.prefix)
        self.building = None

    @precondition(lambda self: self.building is None and self.limits)
    @rule(at=TIMES)
    def begin_to_count(self, at: int) -> None:
        letters = needed([check for key in KEYS for check in checks(self.limits, key, MODELS[0], at)])
        held = begin(self.tenant_id, "turn")
        assert held is not None
        self.building = ("turn", letters, None, held, at)

    @precondition(lambda self: self.building is not None and self.building[2] is None)
    @rule()
    def look_at_the_ledger(self) -> None:
        assert self.building is not None
        token, letters, _, held, at = self.building
        self.building = (token, letters, self.looked(letters, at, held), held, at)

    @precondition(lambda self: self.building is not None and self.building[2] is not None)
    @rule()
    def finish_counting(self) -> None:
        assert self.building is not None
        token, letters, looked, _, _ = self.building
        assert looked is not None
        finish(self.tenant_id, token, letters, looked)
        self.building = None

    @precondition(lambda self: self.building is None and self.limits and self.unsettled)
    @rule(data=st.data(), at=TIMES)
    def settle_while_it_is_counted(self, data: st.DataObject, at: int) -> None:
        """The four in the order that matters, which they seldom come in by themselves."""
        self.begin_to_count(at)
        self.look_at_the_ledger()
        self.settle(data)
        self.finish_counting()

    @precondition(lambda self: self.building is None and self.limits and self.runs)
    @rule(data=st.data(), at=TIMES, tokens=st.integers(0, 12), nanos=st.integers(0, 5))
    def end_what_valkey_forgot(self, data: st.DataObject, at: int, tokens: int, nanos: int) -> None:
        """As above: what runs was counted before Valkey was lost, and is not when it is counted anew."""
        self.lose_valkey()
        self.begin_to_count(at)
        self.look_at_the_ledger()
        self.finish_counting()
        self.end(data, tokens, nanos)
        self.settle(data)

    def looked(self, letters: dict[str, str], at: int, held: list[str]) -> Looked:
        """What PostgreSQL would say at this moment."""
        windows = windows_for(letters, at)
        found = [
            Sum(*span, entry.key_id, entry.model, 1, entry.output_tokens, entry.cost_nanos)
            for span in {span for _, span in windows}
            for entry in self.ledger.values()
            if span[0] <= entry.created_at < span[1] and entry.response_id not in held
        ]
        return Looked(windows, found, [])

    @invariant()
    def what_is_counted_is_right(self) -> None:
        open_now = {
            raw.decode(): Reservation.from_text(raw.decode(), self.tenant_id, text.decode())
            for raw, text in VALKEY.hgetall(self.prefix + "open").items()
        }
        # One whose reservation was lost and that ended just now is about to make its counters void.
        doubtful = {
            scope
            for response_id in self.unsettled - set(open_now)
            for scope in scopes_of(self.ledger[response_id].key_id, self.ledger[response_id].model)
        }
        for raw, letters in VALKEY.hgetall(self.prefix + "counted").items():
            scope = raw.decode()
            for letter in letters.decode() if scope not in doubtful else "":
                self.is_right(scope, letter, open_now)

    def is_right(self, scope: str, letter: str, open_now: dict[str, Reservation]) -> None:
        home = HOMES[letter]
        expected: dict[str, int] = {}
        for mine in open_now.values():
            if scope in scopes_of(mine.key_id, mine.model):
                at = home if home == RUNNING else f"{home}:{window(home, mine.created_at)[0]}"
                expected[at] = expected.get(at, 0) + mine.amount(letter)
        for entry in self.ledger.values():
            is_counted = home != RUNNING and entry.response_id not in open_now
            if is_counted and scope in scopes_of(entry.key_id, entry.model):
                at = f"{home}:{window(home, entry.created_at)[0]}"
                used = {"r": 1, "D": entry.cost_nanos, "M": entry.cost_nanos}.get(letter, entry.output_tokens)
                expected[at] = expected.get(at, 0) + used
        places = (
            [RUNNING] if home == RUNNING else [f"{home}:{window(home, START + late)[0]}" for late in (0, 60)]
        )
        for place in places:
            value = int(VALKEY.hget(self.prefix + place, scope + letter) or 0)
            assert value == expected.get(place, 0), (scope, letter, place)

    def teardown(self) -> None:
        forget(self.prefix)


def finish_at_once(machine: Counting, letters: dict[str, str], at: int) -> bool:
    """Make counters with nothing in between."""
    held = begin(machine.tenant_id, "now")
    assert held is not None
    return finish(machine.tenant_id, "now", letters, machine.looked(letters, at, held))


async def ask_the_gate(mine: Reservation, asked: Any) -> Decision:
    async with asyncio_client() as client:
        return await reserve(client, mine, asked)


def forget(prefix: str) -> None:
    """Lose everything of a tenant."""
    keys = VALKEY.keys(prefix.replace("[", r"\[") + "*")
    if keys:
        VALKEY.delete(*keys)


TestCounting = Counting.TestCase
TestCounting.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
