"""The ledger: each admitted request has one row, whatever became of it, written before its client knows."""

from typing import Any

import pytest
from pytest_django import Settings

from tenants.models import Tenant
from tests.integration.quotas.conftest import rows
from tests.support.chat import chat_error, chat_stream, chunk, frame, usage_of
from tests.support.client import Client, wait_until
from tests.support.upstream import ScriptedUpstream

BEGUN = chat_stream("Hel", "lo there", finish=None, usage=None, done=False)


def the_row() -> dict[str, Any]:
    """The only row, once there is one."""
    (row,) = wait_until(rows, timeout=10, what="a row of the ledger")
    return row  # type: ignore[no-any-return]


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_is_charged_what_its_backend_told_before_its_client_knows(
    store: bool, stream: bool, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hi", usage=(1000, 50)))
    if stream:
        response = friend.read_stream(input="Hello", store=store).events[-1]["response"]
    else:
        response = friend.create(input="Hello", store=store).json()
    (row,) = rows()
    assert (row["response_id"], row["tenant_id"]) == (response["id"], friend_tenant.id)
    assert (row["status"], row["error_code"], row["purpose"]) == ("completed", "", "respond")
    assert (row["input_tokens"], row["output_tokens"], row["is_estimated"]) == (1000, 50, False)
    assert (row["input_price"], row["cached_input_price"], row["output_price"]) == (10**9, 10**8, 2 * 10**9)
    assert row["cost_nanos"] == 1000 * 1000 + 50 * 2000
    assert (row["model"], row["backend"], row["attempts"]) == (friend.model, "scripted", 1)
    assert row["created_at"] == response["created_at"] <= row["ended_at"]
    assert 0 <= row["first_event_ms"] <= row["duration_ms"] < 10_000


def test_what_the_backend_refuses_costs_nothing_and_says_why(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_error("No."), status=500)
    refused = friend.create(input="Hello")
    row = the_row()
    assert (row["status"], row["error_code"]) == ("failed", refused.error["code"])
    assert (row["input_tokens"], row["output_tokens"], row["cost_nanos"]) == (0, 0, 0)


@pytest.mark.parametrize("store", [True, False])
def test_one_whose_client_leaves_is_charged_about_what_it_was_told(
    store: bool, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN, end="hang")
    exchange = friend.stream(input="Hello", store=store)
    exchange.read_event("response.output_text.delta")
    exchange.close()
    row = the_row()
    assert (row["status"], row["is_estimated"]) == ("cancelled", True)
    assert 0 < row["input_tokens"] < 20
    assert 0 < row["output_tokens"] < 5


def test_a_first_figure_is_not_what_an_answer_that_broke_off_is_charged(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    early = frame(chunk({}) | {"choices": [], "usage": usage_of((1000, 1))})
    told = chat_stream(*["word and "] * 50, finish=None, usage=None, done=False)
    upstream.reply(body=early + told, end="hang")
    exchange = friend.stream(input="Hello")
    for _ in range(50):
        exchange.read_event("response.output_text.delta")
    exchange.close()
    row = the_row()
    assert (row["status"], row["input_tokens"], row["is_estimated"]) == ("cancelled", 1000, True)
    assert row["output_tokens"] >= 50


def test_a_figure_told_with_the_last_word_is_what_an_answer_that_broke_off_is_charged(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    words = [chunk({"content": "word and "}) | {"usage": usage_of((1000, 7 * n))} for n in range(1, 4)]
    upstream.reply(body=b"".join(map(frame, words)), end="cut")
    assert friend.create(input="Hello").status == 500
    row = the_row()
    assert (row["input_tokens"], row["output_tokens"], row["is_estimated"]) == (1000, 21, False)


@pytest.mark.parametrize("figure", [2**60, -7, 0])
def test_an_answer_whose_figures_make_no_sense_is_not_free(
    figure: int, friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream(*["word and "] * 50, usage=(figure, figure)))
    assert friend.create(input="Hello").json()["status"] == "completed"
    row = the_row()
    assert (row["status"], row["is_estimated"]) == ("completed", True)
    assert 0 < row["input_tokens"] < 20 <= row["output_tokens"]


def test_one_that_no_worker_takes_is_charged_nothing(friend: Client, settings: Settings) -> None:
    settings.QUEUE_SECONDS = 0.2
    assert friend.create(input="Hello", service_tier="flex").status == 503
    row = the_row()
    assert (row["status"], row["error_code"], row["cost_nanos"]) == ("failed", "overloaded", 0)


def test_counting_is_free_and_compacting_is_charged(friend: Client, upstream: ScriptedUpstream) -> None:
    body = {"model": friend.model, "input": "Hello"}
    assert friend.request("POST", "/responses/input_tokens", body).status == 200
    assert rows() == []
    upstream.reply(body=chat_stream("They said hello.", usage=(90, 4)))
    assert friend.request("POST", "/responses/compact", body).status == 200
    (row,) = rows()
    assert (row["purpose"], row["status"], row["input_tokens"], row["output_tokens"]) == (
        "compact",
        "completed",
        90,
        4,
    )


def test_a_compaction_that_broke_off_is_charged_what_was_read(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=BEGUN, end="cut")
    body = {"model": friend.model, "input": "word and " * 50}
    assert friend.request("POST", "/responses/compact", body).status == 500
    row = the_row()
    assert (row["purpose"], row["status"], row["is_estimated"]) == ("compact", "failed", True)
    assert row["input_tokens"] >= 50


def test_a_background_response_keeps_the_prices_of_its_time(
    friend: Client, upstream: ScriptedUpstream
) -> None:
    upstream.reply(body=chat_stream("Hi", usage=(1000, 50)))
    begun = friend.create(input="Hello", background=True).json()
    row = the_row()
    assert (row["response_id"], row["status"], row["cost_nanos"]) == (begun["id"], "completed", 1_100_000)


def test_a_request_that_is_sent_again_is_charged_once(friend: Client) -> None:
    headers = {"Idempotency-Key": "once"}
    body = {"model": friend.model, "input": "Hello"}
    answers = [friend.request("POST", "/responses", body, headers=headers) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 200]
    assert len(rows()) == 1


def test_a_refused_request_leaves_no_row(friend: Client) -> None:
    assert friend.create(input="Hello", model="unknown").status == 404
    assert rows() == []
