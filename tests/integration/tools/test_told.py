"""What the service's own tools did, as clients are told of it: in streams, afterwards, and again, in both dialects."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from responses_api.dispatch import BACKGROUND_QUEUE
from responses_api.eventlog import names
from responses_api.models import Backend
from responses_api.protocol.job import Job
from responses_api.protocol.receipts import INTERRUPTED
from responses_api.protocol.server_tools import MCP_CALL
from tenants.models import Tenant
from tests.integration.services.attempts import VALKEY, begin, ended, follow, lose, waiting
from tests.integration.tools.reading import TOOLS, add
from tests.support.abacus import Abacus
from tests.support.chat import chat_calls, chat_stream
from tests.support.checks import assert_unknown_to, checked_stream, output_text
from tests.support.client import Client, Exchange, Json
from tests.support.upstream import ScriptedUpstream
from tests.unit.workers.test_receipts import BEGUN, DONE_CALL, LIST
from workers.backends.parts import Part, Receipt, RoundEnd, TextDelta

OPENAI = {"x-stainless-lang": "python"}


def told(client: Client, headers: dict[str, str] | None = None, **body: Any) -> Exchange:
    """A whole stream, asked by a client of some family."""
    asked = {"model": client.model, "input": "2 + 3?", "tools": TOOLS, "stream": True, **body}
    with client.open("POST", "/responses", asked, headers) as exchange:
        exchange.read_all()
    return exchange


@pytest.mark.parametrize(
    ("headers", "prefix", "head"), [({}, "antiphon:", "antiphon:"), (OPENAI, "", "response.")]
)
def test_a_stream_ends_as_get_tells_and_is_told_again_to_the_last_byte(
    friend: Client,
    stranger: Client,
    upstream: ScriptedUpstream,
    abacus: Abacus,
    headers: dict[str, str],
    prefix: str,
    head: str,
) -> None:
    upstream.reply(body=chat_calls(add(2, 3), text="Let me see."))
    upstream.reply(body=chat_stream("It is ", "5."))
    exchange = told(friend, headers)
    final = checked_stream(exchange, friend)
    assert [item["type"] for item in final["output"]] == [
        f"{prefix}mcp_list_tools",
        "message",
        f"{prefix}mcp_call",
        "message",
    ]
    steps = [kind for kind in exchange.types if "mcp_" in kind]
    assert steps == [
        f"{head}mcp_list_tools.in_progress",
        f"{head}mcp_list_tools.completed",
        f"{head}mcp_call.in_progress",
        f"{head}mcp_call_arguments.delta",
        f"{head}mcp_call_arguments.done",
        f"{head}mcp_call.completed",
    ]
    response_id = final["id"]
    with friend.open("GET", f"/responses/{response_id}?stream=true") as again:
        again.read_all()
    assert again.raw == exchange.raw
    with friend.open("GET", f"/responses/{response_id}?stream=true&starting_after=5") as rest:
        rest.read_all()
    assert exchange.raw.endswith(rest.raw)
    assert rest.events[0]["sequence_number"] == 6
    assert_unknown_to(stranger, response_id)


@pytest.mark.parametrize("headers", [{}, OPENAI])
def test_receipts_that_come_back_as_input_are_listed_as_they_were_sent(
    friend: Client, upstream: ScriptedUpstream, abacus: Abacus, headers: dict[str, str]
) -> None:
    upstream.reply(body=chat_calls(add(2, 3)))
    upstream.reply(body=chat_stream("5"))
    output = checked_stream(told(friend, headers), friend)["output"]
    upstream.reply(body=chat_stream("Still 5."))
    more = [{"role": "user", "content": "Sure?"}]
    body = {"model": friend.model, "input": [*output, *more]}
    answered = friend.request("POST", "/responses", body, headers)
    assert answered.status == 200, answered.body
    listed = friend.get(f"/responses/{answered.json()['id']}/input_items?order=asc").json()["data"]
    assert [item["type"] for item in listed] == [*(item["type"] for item in output), "message"]
    ran = listed[1]
    assert {name: ran[name] for name in ("arguments", "output", "error", "status")} == {
        "arguments": '{"a": 2, "b": 3}',
        "output": "5",
        "error": None,
        "status": "completed",
    }
    replayed = upstream.requests()[-1].body["messages"]
    assert [message["role"] for message in replayed] == ["assistant", "tool", "assistant", "user"]
    assert json.dumps(replayed).count('"5"') == 2


# ---------------------------------------------------------------- a worker is lost


@pytest.fixture
def job(friend: Client, friend_tenant: Tenant, backend: Backend, abacus: Abacus) -> Iterator[Job]:
    """A background job with an abacus, that no worker has yet."""
    yield waiting(friend_tenant, backend, tools=TOOLS)
    VALKEY.delete(names.turns(BACKGROUND_QUEUE), *VALKEY.keys(names.waiting(BACKGROUND_QUEUE, "*")))


def _of_abacus(item: Json, **fields: Any) -> Json:
    return {**item, "server_label": "abacus", **fields}


ARGUMENTS: Json = {"name": "add", "arguments": '{"a": 2, "b": 3}'}
ROUND: list[Part] = [
    Receipt("list", _of_abacus(LIST, tools=[]), "in_progress"),
    Receipt("list", _of_abacus(LIST), "completed", is_done=True),
    TextDelta("t", "Let me see."),
    RoundEnd(),
    Receipt(1, _of_abacus(BEGUN, **ARGUMENTS), "in_progress", called="add"),
]
RAN = Receipt(1, _of_abacus(DONE_CALL, **ARGUMENTS, output="5"), "completed", is_done=True)


@pytest.mark.parametrize("is_followed", [True, False])
@pytest.mark.parametrize("said", [[], [TextDelta("t", "It ")]])
def test_another_worker_goes_on_behind_the_last_finished_round_and_runs_no_tool_again(
    job: Job,
    friend: Client,
    friend_tenant: Tenant,
    upstream: ScriptedUpstream,
    abacus: Abacus,
    is_followed: bool,
    said: list[Part],
) -> None:
    upstream.reply(body=chat_stream("It ", "is 5."))
    if is_followed:
        with follow(friend, job) as exchange:
            worker, first = begin(job, [*ROUND, RAN, *said])
            exchange.read_until(lambda seen: len(seen.events) >= first.next_sequence)
            lose(worker)
            exchange.read_all()
        final = checked_stream(exchange, friend)
    else:
        worker, first = begin(job, [*ROUND, RAN, *said])
        lose(worker)
        ended(friend_tenant, job)
        with follow(friend, job) as exchange:
            exchange.read_all()
        final = checked_stream(exchange, friend)
    assert (final["status"], abacus.ran) == ("completed", [])
    assert output_text(final) == "Let me see.It is 5."
    assert final["output"][:3] == first.response["output"][:3]
    (request,) = upstream.requests()
    assert [message["role"] for message in request.body["messages"]][-2:] == ["assistant", "tool"]


def test_a_call_that_was_running_has_failed_for_the_worker_that_goes_on(
    job: Job, friend: Client, friend_tenant: Tenant, upstream: ScriptedUpstream, abacus: Abacus
) -> None:
    upstream.reply(body=chat_stream("I do not know."))
    worker, _ = begin(job, ROUND)
    lose(worker)
    assert ended(friend_tenant, job)["status"] == "completed"
    with follow(friend, job) as exchange:
        exchange.read_all()
    final = checked_stream(exchange, friend)
    ran = next(item for item in final["output"] if item["type"] == MCP_CALL)
    assert (ran["status"], ran["error"], ran["arguments"]) == ("failed", INTERRUPTED, ARGUMENTS["arguments"])
    assert abacus.ran == []
    (request,) = upstream.requests()
    assert INTERRUPTED in json.dumps(request.body["messages"])
