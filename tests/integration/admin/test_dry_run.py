"""The dry run of tool policies: a request is tried, explained, and leaves no trace."""

import uuid
from typing import Any

import pytest
from django.test import Client

from responses_api.models import Response
from tenants.keys import new_key
from tenants.models import Tenant, ToolPolicy
from tenants.scoping import operator_scope, tenant_scope
from tests.integration.admin.people import person_of
from tests.integration.admin.policy_pages import NO_MAIL, TRY, form, page_of, text_of, versions

BODY = (
    '{"model": "m", "input": "x", "tools": [{"type": "function", "name": "send_mail"},'
    ' {"type": "function", "name": "clock"}]}'
)


@pytest.fixture
def owner(friend: Tenant) -> Client:
    return person_of(friend, "owner")


def test_a_pasted_request_is_explained_tool_by_tool(owner: Client, friend: Tenant) -> None:
    owner.post(page_of(friend, page="edit/"), form(NO_MAIL, max_tool_calls=1))
    assert "send_mail" in text_of(owner.get(TRY))
    page = text_of(owner.post(TRY, {"body": BODY, "calls": "clock\nsend_mail\nclock"}))
    assert "The request would be taken." in page
    assert "Rule 'no-mail' of the tenant's policy, version 1, denies functions named '*mail*'." in page
    assert "The tenant's policy, version 1, allows what none of its rules speaks of." in page
    assert "These functions may be called: clock." in page
    assert "At most 1 call, by the tenant's policy, version 1." in page
    assert page.count(">left out<") == 2
    assert page.count(">told<") == 1
    with operator_scope():
        assert Response.objects.count() == 0


def test_a_keys_policy_an_old_version_and_a_draft_can_be_tried(owner: Client, friend: Tenant) -> None:
    key, _ = new_key(friend, name="robot")
    owner.post(page_of(friend, page="edit/"), form(NO_MAIL))
    owner.post(page_of(friend, page="edit/"), form(based_on=1))
    owner.post(page_of(friend, key, "edit/"), form({"tool": "clock", "id": "no-clock"}))
    in_force = text_of(owner.post(TRY, {"body": BODY, "key": str(key.id)}))
    assert "These functions may be called: send_mail." in in_force
    old = text_of(owner.post(TRY, {"body": BODY, "tenant_version": 1}))
    assert "These functions may be called: clock." in old
    draft = {"draft_for": "tenant", "draft": '{"default_effect": "deny"}'}
    drafted = text_of(owner.post(TRY, {"body": BODY, **draft}))
    assert "No function may be called." in drafted
    assert "The tenant's policy, a draft, denies what none of its rules speaks of." in drafted
    assert len(versions(friend)) == 2


def test_a_request_that_demands_what_is_forbidden_is_shown_as_refused(owner: Client, friend: Tenant) -> None:
    owner.post(page_of(friend, page="edit/"), form(NO_MAIL))
    body = BODY.replace('"input"', '"tool_choice": {"type": "function", "name": "send_mail"}, "input"')
    page = text_of(owner.post(TRY, {"body": body}))
    assert "The request would be refused" in page
    assert "permission_denied" in page


def test_tools_that_are_not_functions_are_judged_too(owner: Client, friend: Tenant) -> None:
    rule = {"kind": "mcp", "server": "https://*.good.example", "effect": "allow", "id": "good"}
    asked = {"kind": "mcp", "tool": "write", "effect": "approve", "id": "asked"}
    owner.post(
        page_of(friend, page="edit/"),
        form(asked, rule, default_effect="deny", hosted_tools=None, on_violation="fail"),
    )
    body = """{"model": "m", "input": "x", "tools": [
        {"type": "mcp", "server_label": "one", "server_url": "https://mcp.good.example/x",
         "allowed_tools": ["read", "write"]},
        {"type": "mcp", "server_label": "two", "server_url": "https://evil.example/", "allowed_tools": ["read"]},
        {"type": "mcp", "server_label": "three", "server_url": "https://mcp.good.example/y"},
        {"type": "antiphon:search"}]}"""
    page = text_of(owner.post(TRY, {"body": body}))
    assert "one: read" in page
    assert "Rule 'good' of the tenant's policy, version 1, allows MCP tools of servers at" in page
    assert "allows, once the client has approved each call, MCP tools named 'write'." in page
    assert page.count(">once approved<") == 2
    assert "three: the tools that it lists" in page
    assert "The MCP server 'two' is not allowed. The tenant's policy, version 1, denies" in page
    assert "switches tools that this server runs off." in page
    assert "Served where the model's backend takes it" in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"body": "{"}, "The request is not valid JSON"),
        ({"body": "[]"}, "The request body must be a JSON object."),
        ({"body": '{"input": "x"}'}, "'model' is required."),
        ({"body": '{"model": "m", "input": "x", "tools": [{"type": "function"}]}'}, "(field tools[0].name)"),
        ({"body": ""}, "This field is required."),
        ({"body": BODY, "calls": "[1]"}, "must be names, or objects with a 'name'."),
        ({"body": BODY, "calls": "[{"}, "What the model calls is not valid JSON"),
        ({"body": BODY, "tenant_version": 7}, "There is no version 7 of this policy."),
        ({"body": BODY, "draft_for": "tenant", "draft": "{"}, "The draft is not valid JSON"),
        (
            {"body": BODY, "draft_for": "tenant", "draft": '{"rules": [{"id": "a"}]}'},
            "Rule 1 ('a'): 'effect' must be",
        ),
        ({"body": BODY, "key": str(uuid.uuid4())}, "is not one of the available choices"),
        ({"body": BODY, "key_version": 1}, "Choose the key whose policy is meant."),
    ],
)
def test_what_cannot_be_tried_is_said_at_its_field(
    fields: dict[str, Any], said: str, owner: Client, friend: Tenant
) -> None:
    answered = owner.post(TRY, fields)
    assert answered.status_code == 200
    assert said in text_of(answered)
    assert "What would happen" not in text_of(answered)


def test_a_request_is_tried_under_ones_own_policies_only(
    owner: Client, friend: Tenant, stranger: Tenant, operator: Client
) -> None:
    foreign, _ = new_key(stranger, name="foreign-key")
    with tenant_scope(stranger.id):
        ToolPolicy.objects.create(tenant=stranger, version=1, default_effect="deny")
    page = text_of(owner.post(f"{TRY}?tenant={stranger.id}", {"body": BODY}))
    assert "These functions may be called: clock, send_mail." in page
    assert "foreign-key" not in page
    refused = text_of(owner.post(TRY, {"body": BODY, "key": str(foreign.id)}))
    assert "What would happen" not in refused
    assert "Choose a tenant" in text_of(operator.get(TRY))
    named = text_of(operator.post(f"{TRY}?tenant={stranger.id}", {"body": BODY}))
    assert "No function may be called." in named
    assert operator.get(f"{TRY}?tenant={uuid.uuid4()}").status_code == 404
    assert operator.get(f"{TRY}?tenant=x").status_code == 404
    assert person_of(friend, "member").post(TRY, {"body": BODY}).status_code == 200


def test_backend_options_are_tried_too(owner: Client, friend: Tenant) -> None:
    rule = {"tool": "top_*", "id": "no-top", "kind": "backend_option"}
    owner.post(page_of(friend, page="edit/"), form(rule))
    assert "Denies backend options named 'top_*'." in text_of(owner.get(page_of(friend)))
    options = '"antiphon:backend_options": {"min_p": 1, "top_k": 1}, "input"'
    page = text_of(owner.post(TRY, {"body": BODY.replace('"input"', options)}))
    assert "The backend option 'top_k' is not allowed. Rule 'no-top' of the tenant's policy" in page
    assert page.count("backend option</span>") == 2
    assert "These functions may be called: clock, send_mail." in page
