"""Amounts of limits, read and written."""

import pytest

from tenants.metrics import MOST, amount_text, money_text, read_amount, read_limits, short_money


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0.00"),
        (1, "0.000000001"),
        (1_500_000_000, "1.50"),
        (12_345_678_901_234, "12345.678901234"),
        (-1, "-0.000000001"),
    ],
)
def test_money_is_written_exactly(nanos: int, text: str) -> None:
    assert money_text(nanos) == text


@pytest.mark.parametrize("nanos", [0, 1, 999_999_999, 10**9, MOST])
def test_money_that_is_written_is_read_as_the_same(nanos: int) -> None:
    assert read_amount("cost_per_day", money_text(nanos)) == nanos


def test_amounts_are_written_with_what_they_are() -> None:
    assert amount_text("tokens_per_day", 1_000_000, "USD") == "1,000,000"
    assert amount_text("cost_per_day", 1_234_500_000_000, "EUR") == "1,234.50 EUR"


@pytest.mark.parametrize("text", ["", "x", "-1", "NaN", "Infinity", "1.5", str(MOST + 1)])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="amount"):
        read_amount("tokens_per_day", text)


def test_limits_are_read_from_one_line() -> None:
    assert list(read_limits(" requests_per_minute=60, cost_per_day = 1.25 ,")) == [
        ("requests_per_minute", 60),
        ("cost_per_day", 1_250_000_000),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("requests=5", "no metric"),
        ("tokens_per_day", "must be a number"),
        ("tokens_per_day=1.5", "whole number"),
    ],
)
def test_an_entry_that_is_no_limit_is_said(line: str, said: str) -> None:
    (told,) = read_limits(line)
    assert isinstance(told, str)
    assert said in told


def test_a_metric_is_given_once() -> None:
    assert list(read_limits("tokens_per_day=1,tokens_per_day=2"))[1] == "tokens_per_day is given twice."


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0.00 USD"),
        (1, "0.000000001 USD"),
        (9_999_999, "0.009999999 USD"),
        (10_000_000, "0.01 USD"),
        (1_234_565_000_000, "1,234.57 USD"),
        (999_999_999, "1.00 USD"),
    ],
)
def test_money_for_a_glance_is_told_to_the_cent(nanos: int, text: str) -> None:
    assert short_money(nanos, "USD") == text
