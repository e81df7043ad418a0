"""What is looked at: the counters, the ledger, and what the upstream sent. Each claim raises AssertionError."""

import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

import psycopg
import redis

from responses_api.quotas.counters import COSTS, HOMES, LETTERS, RUNNING, TOKENS
from tenants.windows import window
from tests.e2e.quotas.storm import asked_of
from tests.support.metered import WORD, Delivery, read_of

_MILLION = 1_000_000
_TEMPLATE_TOKENS = 16
"""What a guess of the input may have beside a token for each byte of its text."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the ledger."""

    response_id: str
    key_id: str
    model: str
    status: str
    error_code: str
    input_tokens: int
    output_tokens: int
    is_estimated: bool
    input_price: int
    output_price: int
    cost_nanos: int
    reserved_tokens: int
    reserved_nanos: int
    attempts: int
    created_at: int

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens

    @property
    def is_whole(self) -> bool:
        """Whether the answer came to its end."""
        return self.status in ("completed", "incomplete")

    def amount(self, letter: str) -> int:
        """What a counter with this letter counts of it."""
        return self.cost_nanos if letter in COSTS else self.tokens if letter in TOKENS else 1


def rows_in(database: "psycopg.Connection[Any]") -> list[Row]:
    """The ledger."""
    columns = ", ".join(
        f"{field.name}::text" if field.name == "key_id" else field.name for field in fields(Row)
    )
    return [Row(*row) for row in database.execute(f"SELECT {columns} FROM tenants_usagerecord").fetchall()]


class Watch:
    """Looks at the counters all the time: none may be over its limit for a moment."""

    def __init__(self, valkey_url: str, database: "psycopg.Connection[Any]") -> None:
        rows = database.execute(
            "SELECT tenant_id, coalesce(key_id::text, ''), model, metric, amount FROM tenants_limit WHERE is_hard"
        ).fetchall()
        self.limits = [(f"{row[1]}|{row[2]}", LETTERS[row[3]], row[4]) for row in rows]
        self.client: Any = redis.Redis.from_url(valkey_url)
        self.prefix = f"antiphon:quota:{{{rows[0][0]}}}:"
        self.looks = 0
        self.highest: dict[tuple[str, str], int] = {}

    def look(self) -> None:
        """Every counter against its limit, at one moment."""
        self.looks += 1
        pipeline = self.client.pipeline(transaction=False)
        for scope, letter, _ in self.limits:
            pipeline.hget(self.place(letter, int(time.time())), scope + letter)
        for (scope, letter, amount), raw in zip(self.limits, pipeline.execute(), strict=True):
            value = int(raw or 0)
            self.highest[scope, letter] = max(value, self.highest.get((scope, letter), 0))
            assert 0 <= value <= amount, (scope, letter, value, amount)

    def place(self, letter: str, at: int) -> str:
        """The key of the counters with this letter at this time."""
        home = HOMES[letter]
        return self.prefix + (home if home == RUNNING else f"{home}:{window(home, at)[0]}")

    def value(self, scope: str, letter: str, at: int) -> int:
        """A counter."""
        return int(self.client.hget(self.place(letter, at), scope + letter) or 0)

    def is_settled(self) -> bool:
        """Whether nothing is reserved any more."""
        return not self.client.hlen(self.prefix + "open")


def counters_are_the_ledger(watch: Watch, rows: Sequence[Row]) -> None:
    """Each counter, of each minute, day and month in which a request came; and what runs: nothing."""
    for scope, letter, amount in watch.limits:
        if HOMES[letter] == RUNNING:
            assert watch.value(scope, letter, 0) == 0, (scope, letter)
            continue
        for at in {window(HOMES[letter], row.created_at)[0] for row in rows}:
            used = added_up(rows, scope, letter, at)
            assert used <= amount, (scope, letter, at)
            assert watch.value(scope, letter, at) == used, (scope, letter, at)


def added_up(rows: Sequence[Row], scope: str, letter: str, at: int) -> int:
    """What the ledger says that a counter should be."""
    key, _, model = scope.partition("|")
    start, stop = window(HOMES[letter], at)
    return sum(
        row.amount(letter)
        for row in rows
        if key in ("", row.key_id) and model in ("", row.model) and start <= row.created_at < stop
    )


def is_paid(row: Row, prices: tuple[int, int]) -> None:
    """A row costs what it says at the prices of its time, and no more than was reserved for it."""
    assert (row.input_price, row.output_price) == prices
    cost = row.input_tokens * row.input_price + row.output_tokens * row.output_price
    assert row.cost_nanos == -(-cost // _MILLION), row
    assert row.tokens <= row.reserved_tokens, row
    assert row.cost_nanos <= row.reserved_nanos, row


def is_as_delivered(row: Row, sent: Sequence[Delivery], number: int, mode: str, seen: int) -> None:
    """A row is what the upstream sent for the request of this number.

    Whole answers exactly, and those that the upstream itself cut; of the others at least what the client was told,
    and at most what went out; estimates within what their texts can be.
    """
    about = (row, sent, number, mode, seen)
    assert row.output_tokens >= seen, about
    if not sent:
        assert row.tokens == 0, about
    elif row.is_estimated:
        is_a_fair_guess(row, sent, len(asked_of(number, mode, 99)), read_of(number))
    elif row.is_whole:
        # A killed worker may have had all of it and told nothing: then it is asked for once more, and charged once.
        whole = [(delivery.read, delivery.written) for delivery in sent if delivery.is_whole]
        assert len(whole) <= row.attempts, about
        assert (row.input_tokens, row.output_tokens) == whole[-1], about
    elif mode == "cut" and row.tokens:
        assert len(sent) == 1, about
        assert (row.input_tokens, row.output_tokens) == (sent[0].read, sent[0].written), about
    elif row.tokens:
        assert row.input_tokens == read_of(number), about
        assert row.output_tokens <= max(delivery.written for delivery in sent), about


def is_a_fair_guess(row: Row, sent: Sequence[Delivery], length: int, read: int) -> None:
    """Of each attempt: no more input than its text has bytes, or what was told; no more output than went out has."""
    said = sum(delivery.written * len(WORD) for delivery in sent)
    assert row.output_tokens <= said, (row, sent)
    guess = length + _TEMPLATE_TOKENS
    told = read if row.is_whole else 0
    assert row.input_tokens <= told + guess * (row.attempts - row.is_whole), (row, sent)


def sums(rows: Sequence[Row], deliveries: Sequence[Delivery]) -> str:
    """What was charged and what was delivered, in tokens, to be told."""
    whole = sum(row.tokens for row in rows if row.is_whole and not row.is_estimated)
    partial = sum(row.tokens for row in rows if not row.is_whole and not row.is_estimated)
    guessed = sum(row.tokens for row in rows if row.is_estimated)
    sent_whole = sum(delivery.read + delivery.written for delivery in deliveries if delivery.is_whole)
    sent_partly = sum(delivery.read + delivery.written for delivery in deliveries if not delivery.is_whole)
    return (
        f"ledger {whole} of whole answers, {partial} of others, {guessed} guessed;"
        f" upstream {sent_whole} in whole answers, {sent_partly} in others"
    )


def changed(row: Row, **fields_: Any) -> Row:
    """The row with other values, for whoever tries whether a claim can fail."""
    names = [field.name for field in fields(Row)]
    return Row(**{**dict(zip(names, astuple(row), strict=True)), **fields_})
