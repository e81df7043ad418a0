"""What the rules of a key admit, and which rules there are."""

import time

import pytest

from tenants.models.key import all_scopes, known_scopes
from tenants.rules import BadRule, checked_addresses, checked_models, checked_scopes, may_use


@pytest.mark.parametrize(
    ("model", "allowed", "may"),
    [
        ("any", [], True),
        ("gpt-5", ["gpt-5"], True),
        ("gpt-5-mini", ["gpt-5"], False),
        ("gpt-5-mini", ["gpt-*"], True),
        ("GPT-5", ["gpt-*"], False),
        ("a/b", ["*"], True),
        ("a/b", ["*/b"], True),
        ("x-mid-y-end", ["x*mid*end"], True),
        ("x-end-mid", ["x*mid*end"], False),
        ("aba", ["ab*ba"], False),  # what the pieces share does not count twice
        ("a.c", ["a?c", "[a].c"], False),  # only * stands for others
        ("b", ["a", "b"], True),
        ("", ["*"], True),
        ("a", [""], False),
    ],
)
def test_a_model_is_allowed_by_its_name(model: str, allowed: list[str], may: bool) -> None:
    assert may_use(model, allowed) is may


def test_no_pattern_takes_long() -> None:
    began = time.perf_counter()
    assert not may_use("a" * 100_000, ["*a" * 99 + "*b"])
    assert time.perf_counter() - began < 0.5


def test_scopes_are_kept_in_their_order_and_named_where_there_is_none() -> None:
    assert checked_scopes(["models:read", "responses:write"]) == ["responses:write", "models:read"]
    assert checked_scopes(["backends:choose", "models:read"]) == ["models:read", "backends:choose"]
    for given, words in (([], "needs a scope"), (["admin"], "'admin' is no scope")):
        with pytest.raises(BadRule, match=words):
            checked_scopes(given)


def test_addresses_are_written_as_usual_and_kept_once() -> None:
    given = ["192.0.2.7", "192.0.2.7/32", "2001:DB8:0::/32", "::ffff:192.0.2.0/120"]
    assert checked_addresses(given) == ["192.0.2.7", "2001:db8::/32", "192.0.2.0/24"]
    with pytest.raises(BadRule, match="the network is"):
        checked_addresses(["192.0.2.7/24"])


def test_models_are_kept_once_and_bounded() -> None:
    assert checked_models([" a ", "a", "", "b*"]) == ["a", "b*"]
    with pytest.raises(BadRule, match="200 characters"):
        checked_models(["x" * 201])
    with pytest.raises(BadRule, match="at most 100"):
        checked_models([str(number) for number in range(101)])


def test_no_key_has_the_operators_scopes_by_default() -> None:
    assert set(known_scopes()) - set(all_scopes()) == {"backends:choose"}
