"""`manage.py seed_load`: responses to measure with are such as the service itself stores."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from responses_api.chains import CONTINUABLE, load_context
from responses_api.models import Item, Response
from responses_api.protocol.fold import fold
from responses_api.protocol.score import perform
from responses_api.protocol.sse import decode, frames_to_data
from responses_api.services.stored import snapshots
from tenants.models import Tenant, UsageRecord
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.builders import stored
from tests.support.tenants import make_tenant, tenant_names


@pytest.fixture
def seeded(database: None) -> Tenant:
    """A tenant with 2,000 responses, eight days' worth."""
    said = StringIO()
    call_command("seed_load", responses=2000, tenants=1, days=8.0, stdout=said)
    assert "Made 2,000 responses and 10,000 items of 1 tenants (load-1)" in said.getvalue()
    assert "ak_" not in said.getvalue()
    with operator_scope():
        made: Tenant = Tenant.objects.get()
    return made


def told_and_stored(tenant: Tenant) -> Iterator[tuple[Any, Any]]:
    """Each response, and the events of its stream as they are told again."""
    with tenant_scope(tenant.id):
        rows = list(Response.objects.all())
        for row, final in zip(rows, snapshots(rows), strict=True):
            frames = b"".join(perform(final, row.score))
            yield final, [decode(data) for data in frames_to_data(frames)]


def test_it_makes_so_many_responses_and_items(seeded: Tenant) -> None:
    with operator_scope():
        assert Response.objects.count() == 2000
        assert Item.objects.count() == 10_000
        times = Response.objects.order_by("id").values_list("created_at", flat=True)
        assert list(times) == sorted(times)
        assert 7 * 86_400 < times[1999] - times[0] < 8 * 86_400


def test_each_stream_tells_the_response_that_is_stored(seeded: Tenant) -> None:
    told = list(told_and_stored(seeded))
    assert len(told) == 2000
    for final, events in told:
        assert events[-1]["response"] == final
        so_far = fold(events[:-1])
        assert so_far is not None
        assert so_far["output"] == final["output"]


def test_the_responses_are_of_every_kind(seeded: Tenant) -> None:
    with tenant_scope(seeded.id):
        rows = list(Response.objects.all())
        kinds = {data["type"] for data in Item.objects.values_list("data", flat=True)}
    assert {row.status for row in rows} == {"completed", "incomplete", "failed", "cancelled"}
    assert {row.request["metadata"].get("app") for row in rows} == {None, "web", "ios", "android"}
    assert len({row.key_id for row in rows}) == 3
    assert kinds == {"message", "reasoning", "function_call", "function_call_output"}


def test_each_response_has_its_line_in_the_ledger(seeded: Tenant) -> None:
    with tenant_scope(seeded.id):
        lines = {line.response_id: line for line in UsageRecord.objects.all()}
        rows = list(Response.objects.all())
    assert len(lines) == len(rows) == 2000
    for row in rows:
        line = lines[row.id]
        assert (line.key_id, line.model, line.status) == (row.key_id, row.model, row.status)
        if row.usage:
            assert line.input_tokens == row.usage["input_tokens"]
            assert line.output_tokens == row.usage["output_tokens"]
        assert line.cost_nanos * 10**6 == (
            (line.input_tokens - line.cached_tokens) * line.input_price
            + line.cached_tokens * line.cached_input_price
            + line.output_tokens * line.output_price
        )


def test_its_chains_can_be_continued_and_fork(seeded: Tenant) -> None:
    with tenant_scope(seeded.id):
        rows = {row.id: row for row in Response.objects.all()}
        followed = [row.previous_id for row in rows.values() if row.previous_id]
        assert len(followed) > len(set(followed)) > 500
        for row in rows.values():
            if row.previous_id:
                assert rows[row.previous_id].status in CONTINUABLE
                assert rows[row.previous_id].root_id == row.root_id
            else:
                assert row.root_id == row.id
        deepest = max(
            rows.values(), key=lambda row: len(load_context(row.id)) if row.status == "completed" else 0
        )
        context = load_context(deepest.id)
    answered = {item["call_id"] for item in context if item["type"] == "function_call_output"}
    called = {item["call_id"] for item in context if item["type"] == "function_call"}
    assert len(context) >= 40
    assert answered < called


def test_tenants_that_are_there_are_never_written_to(database: None) -> None:
    real = make_tenant("load-1")
    kept = stored(real)
    for _ in range(2):
        call_command("seed_load", responses=10, tenants=2, items_per_response=2)
    assert set(tenant_names()) == {f"load-{number}" for number in range(1, 6)}
    with operator_scope():
        assert list(Response.objects.filter(tenant=real).values_list("id", flat=True)) == [kept["id"]]
        assert Response.objects.count() == 21


@pytest.mark.parametrize(
    "amount", [{"responses": 0}, {"items_per_response": 1}, {"tenants": 1001}, {"days": float("nan")}]
)
def test_an_amount_that_makes_no_sense_is_refused(database: None, amount: dict[str, float]) -> None:
    option = next(iter(amount)).replace("_", "-")
    with pytest.raises(CommandError, match=f"--{option} must be between"):
        call_command("seed_load", **amount)
    assert not tenant_names()
