"""The order of targets: positions first, weights kept over many requests, and each request's own order found again."""

from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.order import in_order, order_key, with_preference
from responses_api.protocol.target import Target

REQUESTS = 20_000

names = st.sampled_from("abcdefgh")
TARGETS = st.lists(
    st.builds(
        lambda name, position, weight: target(name, position=position, weight=weight),
        names,
        st.integers(0, 3),
        st.integers(1, 1000),
    ),
    min_size=1,
    unique_by=lambda target: target.name,
)
KEYS = st.text(st.characters(exclude_categories=()))


def target(name: str, *, position: int = 0, weight: int = 1) -> Target:
    return Target({"name": name}, f"{name}-model", None, None, position, weight)


def named(targets: list[Target]) -> list[str]:
    return [each.name for each in targets]


@given(TARGETS, KEYS)
def test_every_target_is_asked_once_and_lower_positions_first(targets: list[Target], key: str) -> None:
    ordered = in_order(targets, key)
    assert sorted(named(ordered)) == sorted(named(targets))
    positions = [each.position for each in ordered]
    assert positions == sorted(positions)


@given(TARGETS, KEYS, st.randoms())
def test_the_order_hangs_on_the_key_and_not_on_how_the_targets_come(
    targets: list[Target], key: str, chance: Random
) -> None:
    shuffled = list(targets)
    chance.shuffle(shuffled)
    assert in_order(shuffled, key) == in_order(targets, key)


@given(TARGETS, KEYS, st.data())
def test_a_target_that_is_taken_away_changes_nothing_between_the_others(
    targets: list[Target], key: str, data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(targets))
    left = [each for each in targets if each is not gone]
    assert in_order(left, key) == [each for each in in_order(targets, key) if each is not gone]


@given(TARGETS, KEYS, st.integers(1, 1000))
def test_more_weight_never_moves_a_target_back(targets: list[Target], key: str, more: int) -> None:
    heavier = [replace(targets[0], weight=targets[0].weight + more), *targets[1:]]
    name = targets[0].name
    before, after = named(in_order(targets, key)), named(in_order(heavier, key))
    assert after.index(name) <= before.index(name)


def test_targets_of_one_position_are_first_as_often_as_their_weights_say() -> None:
    targets = [target("a", weight=1), target("b", weight=3), target("c", weight=6), target("d", position=1)]
    first: Counter[str] = Counter()
    second: Counter[str] = Counter()
    for number in range(REQUESTS):
        ordered = named(in_order(targets, order_key("tenant", None, f"resp_{number:032x}")))
        first[ordered[0]] += 1
        second[ordered[1]] += ordered[0] == "c"
    shares = {name: count / REQUESTS for name, count in first.items()}
    # Four standard deviations of a share are at most 0.015 here.
    assert abs(shares["a"] - 0.1) < 0.015
    assert abs(shares["b"] - 0.3) < 0.015
    assert abs(shares["c"] - 0.6) < 0.015
    # Where the heaviest fails, the others share its requests by their weights.
    assert abs(second["b"] / (second["a"] + second["b"]) - 0.75) < 0.02


def test_requests_of_one_prompt_cache_have_one_order_and_tenants_have_their_own() -> None:
    targets = [target(name) for name in "abcdef"]
    orders = {tuple(named(in_order(targets, order_key("t", "cache", f"resp_{n}")))) for n in range(100)}
    assert len(orders) == 1
    others = {tuple(named(in_order(targets, order_key(f"t{n}", "cache", "resp_0")))) for n in range(100)}
    assert len(others) > 50


def test_a_tenant_cannot_write_the_key_of_another() -> None:
    assert order_key('a", "b', "c", "r") != order_key("a", 'b", "c', "r")


@given(TARGETS, st.none() | names, st.none() | names, st.sets(names))
def test_a_preference_orders_and_leaves_nobody_out(
    targets: list[Target], told_by: str | None, held_by: str | None, opened: set[str]
) -> None:
    preferred = with_preference(targets, told_by=told_by, held_by=held_by, is_open=opened.__contains__)
    assert sorted(named(preferred)) == sorted(named(targets))
    rest = [name for name in named(preferred) if name != told_by]
    if told_by in named(targets):
        assert preferred[0].name == told_by
    states = [name in opened for name in rest]
    assert states == sorted(states)
    if held_by in rest and held_by not in opened:
        assert rest[0] == held_by
    plain = [name for name in rest if name != held_by and name not in opened]
    assert plain == [name for name in named(targets) if name in plain]
