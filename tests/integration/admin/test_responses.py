"""The list of stored responses and the page on which one is read."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from responses_api.models import Item, Response
from responses_api.services.background import accept
from tenants.models import Tenant
from tenants.scoping import operator_scope
from tests.integration.admin.stored import RESPONSES, answer, page_of, store
from tests.integration.builders import job_of
from tests.support.queue_worker import claim

SCRIPT = "<script>alert('stored')</script>"
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAAC"


def html(client: Client, path: str) -> str:
    answered = client.get(path)
    assert answered.status_code == 200
    return answered.content.decode()


def queries(client: Client, path: str) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        html(client, path)
    return [query["sql"] for query in captured.captured_queries]


def test_the_list_shows_every_tenants_responses_to_the_operator(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    ids = [store(friend), store(stranger)]
    page = html(operator, RESPONSES)
    assert all(response_id in page for response_id in ids)
    assert "Friend &amp; Sons" in page
    assert "Stranger Ltd" in page
    assert "7 → 11" in page
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", page)


def test_the_list_costs_the_same_queries_for_many_rows_and_counts_nothing(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    store(friend)
    few = queries(operator, RESPONSES)
    for _ in range(6):
        store(friend)
        store(stranger)
    many = queries(operator, f"{RESPONSES}?_facets=True")
    assert len(many) == len(few) <= 28
    assert not [sql for sql in many if "COUNT(" in sql]
    assert not [sql for sql in many if '"responses_api_response"."request"' in sql]


def test_what_is_sealed_is_named_as_that(operator: Client, friend: Tenant) -> None:
    response_id = store(
        friend,
        {"include": ["reasoning.encrypted_content"]},
        {"type": "compaction", "encrypted_content": "AXsealed" * 300},
        {"type": "reasoning", "summary": [], "encrypted_content": "AXstate" * 10},
    )
    page = html(operator, page_of(response_id))
    assert "Compaction" in page
    for told in ("2,400 characters, encrypted", "70 characters, encrypted"):
        assert told in page


def test_a_response_reads_as_a_conversation(operator: Client, friend: Tenant) -> None:
    content = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": PIXEL},
        {"type": "input_file", "filename": "notes.pdf", "file_url": "https://files.example.com/notes.pdf"},
    ]
    body = {
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": content}, {"type": "acme:thing", "depth": {"deep": [1]}}],
        "metadata": {"ticket": "T-1"},
        "temperature": 0.25,
        "tools": [{"type": "function", "name": "look_up", "parameters": {"type": "object"}}],
    }
    response_id = store(
        friend,
        body,
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Let me think."}]},
        {"type": "web_search_call", "status": "failed", "action": {"query": "Köln am Rhein"}},
        {"type": "function_call", "call_id": "call_1", "name": "look_up", "arguments": '{"city":"Köln"}'},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "I would rather not."}],
        },
    )
    page = html(operator, page_of(response_id))
    for told in (
        "What is this?",
        f'<img src="{PIXEL}"',
        "https://files.example.com/notes.pdf",
        "Be brief.",
        "acme:thing",
        "Let me think.",
        "web_search_call",
        "Köln am Rhein",
        "Calls look_up",
        "call_id call_1",
        "&quot;city&quot;: &quot;Köln&quot;",
        "Refusal",
        "I would rather not.",
        "T-1",
        "0.25",
        "Friend &amp; Sons",
    ):
        assert told in page, told


def test_a_function_output_and_the_links_of_a_chain_are_shown(operator: Client, friend: Tenant) -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "look_up", "arguments": "not JSON"}
    first = store(friend, None, call)
    output = {"type": "function_call_output", "call_id": "call_1", "output": '{"degrees":12}'}
    second = store(friend, {"previous_response_id": first, "input": [output]}, answer("Twelve."))
    assert f'href="{page_of(second)}"' in html(operator, page_of(first))
    page = html(operator, page_of(second))
    assert f'href="{page_of(first)}"' in page
    assert "&quot;degrees&quot;: 12" in page


def test_a_response_that_an_older_version_wrote_can_be_read(operator: Client, friend: Tenant) -> None:
    response_id = store(friend, None, answer("Still here."))
    with operator_scope():
        Response.objects.filter(id=response_id).update(request={"unheard_of": "setting"})
    page = html(operator, page_of(response_id))
    assert "Still here." in page
    assert "unheard_of" in page


def test_what_was_dropped_from_the_input_stands_with_the_settings(operator: Client, friend: Tenant) -> None:
    dropped = {"dropped_items": 4, "dropped_turns": 2, "input_tokens": 1945, "context_window": 2048}
    response_id = store(friend, {"truncation": "auto"}, extensions={"antiphon:truncation": dropped})
    page = html(operator, page_of(response_id))
    for told in ("antiphon:truncation", "&quot;dropped_turns&quot;: 2", "1945"):
        assert told in page, told


def test_a_failed_response_says_why(operator: Client, friend: Tenant) -> None:
    error = {"code": "worker_lost", "message": "The worker was lost."}
    page = html(operator, page_of(store(friend, status="failed", error=error)))
    assert "worker_lost" in page
    assert "The worker was lost." in page


def test_nothing_that_a_client_or_model_wrote_becomes_markup(operator: Client, friend: Tenant) -> None:
    friend.name = SCRIPT
    with operator_scope():
        friend.save()
    body = {
        "model": SCRIPT,
        "instructions": SCRIPT,
        "input": [{"role": "user", "content": SCRIPT}, {"type": "acme:thing", SCRIPT: SCRIPT}],
        "metadata": {SCRIPT: SCRIPT},
        "tools": [{"type": "function", "name": "f", "description": SCRIPT, "parameters": {SCRIPT: SCRIPT}}],
    }
    call = {"type": "function_call", "call_id": SCRIPT, "name": SCRIPT, "arguments": f'{{"a":"{SCRIPT}"}}'}
    error = {"code": SCRIPT, "message": SCRIPT}
    response_id = store(friend, body, answer(SCRIPT), call, status="failed", error=error)
    for path in (page_of(response_id), RESPONSES, f"{RESPONSES}?model={SCRIPT}", "/admin/tenants/tenant/"):
        page = html(operator, path)
        assert "alert(&#x27;stored&#x27;)" in page, path
        assert SCRIPT not in page, path


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html;base64,PHNjcmlwdD4=", "//example.com/x", "vbscript:x"]
)
def test_a_citation_that_is_no_web_address_is_not_a_link(operator: Client, friend: Tenant, url: str) -> None:
    message = answer("Look there.")
    note = {"type": "url_citation", "start_index": 0, "end_index": 1, "url": url, "title": "There"}
    message["content"][0]["annotations"] = [note]
    page = html(operator, page_of(store(friend, None, message)))
    assert "There" in page
    assert f'href="{url}' not in page


@pytest.mark.parametrize(
    "url", ["https://tracker.example.com/pixel.png", "data:image/svg+xml;base64,PHN2Zz48L3N2Zz4="]
)
def test_an_image_that_would_be_fetched_or_run_is_not_loaded(
    operator: Client, friend: Tenant, url: str
) -> None:
    body = {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]}
    answered = operator.get(page_of(store(friend, body)))
    assert "<img" not in answered.content.decode()
    assert "img-src 'self' data:" in answered.headers["Content-Security-Policy"]


def test_a_page_costs_the_same_queries_for_a_long_response(operator: Client, friend: Tenant) -> None:
    short = store(friend, None, answer("One."))
    long = store(friend, None, *[answer(f"Part {number}.") for number in range(30)])
    for _ in range(5):
        store(friend, {"previous_response_id": long})
    assert len(queries(operator, page_of(long))) == len(queries(operator, page_of(short))) <= 28


@pytest.mark.parametrize(
    "path", ["?tenant=x", "?status=odd", "?p=x", "?p=0", "?key=x", "?since=x", "?q=x", "?before=../x"]
)
def test_a_mistyped_address_is_no_error(operator: Client, friend: Tenant, path: str) -> None:
    store(friend)
    assert operator.get(RESPONSES + path).status_code == 200


def test_a_response_is_deleted_with_its_items_and_no_other(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    gone, kept = store(friend, None, answer("secret words")), store(stranger)
    path = page_of(gone).replace("/change/", "/delete/")
    asked = html(operator, path)
    assert gone in asked
    assert "Its input and output items are deleted with it" in asked
    assert operator.post(path, {"post": "yes"}).status_code == 302
    with operator_scope():
        assert list(Response.objects.values_list("id", flat=True)) == [kept]
        assert not Item.objects.filter(response_id=gone).exists()
    assert_the_log_tells_only(gone)


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_one_that_has_not_ended_is_shown_and_cancelled_before_it_is_deleted(
    status: str, operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    job = job_of(friend, "What is asked", background=True)
    accept(job, job.to_bytes())
    kept = store(stranger)
    with operator_scope():
        Response.objects.filter(id=job.response_id).update(status=status)
    listed = html(operator, f"{RESPONSES}?status={status}")
    assert job.response_id in listed
    assert kept not in listed
    path = page_of(job.response_id)
    assert "What is asked" in html(operator, path)
    operator.post(path.replace("/change/", "/delete/"), {"post": "yes"})
    with operator_scope():
        assert list(Response.objects.values_list("id", flat=True)) == [kept]
    assert claim([job.response_id], "test:late") == []


def test_selected_responses_of_several_tenants_are_deleted(
    operator: Client, friend: Tenant, stranger: Tenant
) -> None:
    gone = [store(friend), store(stranger)]
    kept = store(friend)
    form: dict[str, Any] = {"action": "delete_selected", "_selected_action": gone, "post": "yes"}
    assert operator.post(RESPONSES, form).status_code == 302
    with operator_scope():
        assert list(Response.objects.values_list("id", flat=True)) == [kept]


def test_a_response_is_neither_made_nor_changed_here(operator: Client, friend: Tenant) -> None:
    response_id = store(friend, {"input": "Before"})
    assert operator.get(f"{RESPONSES}add/").status_code == 403
    operator.post(page_of(response_id), {"status": "failed"})
    with operator_scope():
        assert Response.objects.get(id=response_id).status == "completed"


def assert_the_log_tells_only(response_id: str) -> None:
    entry = LogEntry.objects.get()
    assert entry.object_repr == response_id
    assert entry.change_message == ""


def test_the_statuses_to_choose_from_are_those_of_stored_responses(operator: Client, friend: Tenant) -> None:
    page = html(operator, RESPONSES)
    choices = page[page.index('<select name="status"') :]
    offered = re.findall(r'<option value="(\w+)"', choices[: choices.index("</select>")])
    assert offered == ["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
