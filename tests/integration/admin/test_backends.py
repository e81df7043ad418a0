"""A backend's page: its key goes in and comes out nowhere, its lists are written one entry a line."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from pytest_django import Settings

from responses_api.models import Backend
from responses_api.services.backend_keys import KeyLost, key_of
from tenants.models import AuditEvent
from tenants.scoping import operator_scope

BACKENDS = "/admin/responses_api/backend/"
URL = "https://api.example.com/v1"
KEY, OTHER = "sk-robin-0123456789", "sk-wren-9876543210"
FORM = {
    "name": "example",
    "kind": "responses",
    "base_url": URL,
    "images": "sent",
    "files": "sent",
    "media_urls": "sent",
    "structured_output": "sent",
    "tools": "native",
    "reasoning": "raw",
    "thinking_tags": "told",
    "token_counting": "local",
    "is_enabled": "on",
    "passthrough_tool_types": "",
    "allowed_options": "",
    "default_options": "",
    "connect_timeout": "5",
    "first_byte_timeout": "120",
    "idle_timeout": "60",
    "total_timeout": "900",
    "routes-TOTAL_FORMS": "0",
    "routes-INITIAL_FORMS": "0",
}

Change = Callable[..., str]


@pytest.fixture
def change(operator: Client) -> Change:
    """Makes a backend by its form, then changes it; gives the page that came, empty where it was saved."""

    def post(**fields: Any) -> str:
        known = Backend.objects.first()
        path = f"{BACKENDS}{known.pk}/change/" if known else f"{BACKENDS}add/"
        answer = operator.post(path, {**FORM, **fields})
        return "" if answer.status_code == 302 else answer.content.decode()

    return post


def everything_in_the_database() -> str:
    """Each row of each table that the operator writes to, as text."""
    told: list[str] = []
    tables = ("responses_api_backend", "tenants_auditevent", "django_admin_log", "django_session")
    with operator_scope(), connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT row_to_json(t)::text FROM {table} t")
            told += [text for (text,) in cursor.fetchall()]
    return "\n".join(told)


def test_a_key_goes_in_and_comes_out_nowhere(operator: Client, change: Change) -> None:
    assert change(api_key=KEY) == ""
    assert change(api_key=KEY, total_timeout="800") == ""
    backend = Backend.objects.get()
    assert key_of("example", URL) == KEY
    assert backend.spec().has_stored_key
    page = f"{BACKENDS}{backend.pk}"
    for path in (
        BACKENDS,
        f"{page}/change/",
        f"{page}/history/",
        f"{page}/delete/",
        "/admin/tenants/auditevent/",
    ):
        shown = operator.get(path)
        assert shown.status_code == 200
        assert KEY not in shown.content.decode()
        assert backend.sealed_key not in shown.content.decode()
    assert "stored, encrypted" in operator.get(f"{page}/change/").content.decode()
    assert KEY not in everything_in_the_database()
    assert KEY not in str(backend.spec())
    assert "API key" in " ".join(LogEntry.objects.values_list("change_message", flat=True))
    with operator_scope():
        assert KEY not in str([*AuditEvent.objects.values_list("subject", "details")])


def test_a_key_stays_until_another_one_is_given_or_it_is_removed(change: Change) -> None:
    change(api_key=KEY)
    change(total_timeout="800")
    assert key_of("example", URL) == KEY
    change(api_key=OTHER)
    assert key_of("example", URL) == OTHER
    assert change(remove_key="on") == ""
    assert Backend.objects.get().sealed_key == ""
    change(api_key=KEY)
    assert change(remove_key="on", api_key_env="EXAMPLE_KEY") == "", "a variable may take its place at once"
    assert Backend.objects.get().api_key_env == "EXAMPLE_KEY"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"api_key": KEY, "api_key_env": "EXAMPLE_KEY"},
            "Either name the variable that holds the key, or store the key itself: not both.",
        ),
        (
            {"api_key": f"{KEY} {KEY}"},
            "This is no key: one has 1 to 4096 printable ASCII characters, and no spaces.",
        ),
        ({"api_key": f"{KEY}ü"}, "This is no key"),
        ({"api_key": KEY, "remove_key": "on"}, "Either store another key or remove the one that is stored."),
        ({"api_key": KEY, "name": ""}, "This field is required."),
    ],
)
def test_a_key_that_is_refused_is_not_shown_again(
    change: Change, fields: dict[str, str], sentence: str
) -> None:
    page = change(**fields)
    assert sentence in page
    assert "sk-robin" not in page
    assert not Backend.objects.exists()


def test_a_stored_key_and_a_variable_do_not_go_together(change: Change) -> None:
    change(api_key=KEY)
    assert "not both" in change(api_key_env="EXAMPLE_KEY")
    assert key_of("example", URL) == KEY


def test_a_key_does_not_follow_its_backend_to_another_server(change: Change) -> None:
    change(api_key=KEY)
    sentence = "The stored key was meant for another server: enter the key for this one, or remove it."
    page = change(base_url="https://elsewhere.example.net/v1")
    assert (sentence in page, "stored, encrypted" in page, "lost:" in page) == (True, True, False)
    assert change(base_url="https://api.example.com/v2") == ""
    assert key_of("example", "https://api.example.com/v2/") == KEY
    assert change(base_url="https://elsewhere.example.net/v1", api_key=OTHER) == ""
    assert key_of("example", "https://elsewhere.example.net/v1") == OTHER
    with pytest.raises(KeyLost, match="at another server by now"):
        key_of("example", URL)


def test_a_key_that_is_lost_is_told(operator: Client, change: Change, settings: Settings) -> None:
    settings.SEAL_KEYS = (b"1" * 32,)
    change(api_key=KEY)
    settings.SEAL_KEYS = (b"2" * 32,)
    page = operator.get(f"{BACKENDS}{Backend.objects.get().pk}/change/").content.decode()
    assert "lost: ANTIPHON_SEAL_KEYS has no key that opens it. Enter it again." in page
    assert change(api_key=OTHER) == ""
    assert key_of("example", URL) == OTHER


def test_lists_are_written_one_entry_a_line(operator: Client, change: Change) -> None:
    lists = {
        "native_features": ["encrypted_content", "allowed_tools"],
        "passthrough_tool_types": "web_search\n acme:* \n\nweb_search",
        "allowed_options": "top_k, min_p",
    }
    assert change(**lists) == ""
    backend = Backend.objects.get()
    assert backend.native_features == ["encrypted_content", "allowed_tools"]
    assert backend.passthrough_tool_types == ["web_search", "acme:*"]
    assert backend.allowed_options == ["top_k", "min_p"]
    page = operator.get(f"{BACKENDS}{backend.pk}/change/").content.decode()
    assert "web_search\nacme:*</textarea>" in page
    assert change() == ""
    backend.refresh_from_db()
    assert (backend.native_features, backend.passthrough_tool_types, backend.allowed_options) == ([], [], [])


def test_default_options_are_written_as_json_and_shown_as_they_are(operator: Client, change: Change) -> None:
    assert change(default_options='{"logit_bias": {"2": 3}, "stop": "ü"}') == ""
    backend = Backend.objects.get()
    assert backend.spec().default_options == {"logit_bias": {"2": 3}, "stop": "ü"}
    page = operator.get(f"{BACKENDS}{backend.pk}/change/").content.decode()
    assert "  &quot;stop&quot;: &quot;ü&quot;" in page
    assert change(default_options='{"stop":"ü","logit_bias":{"2":3}}', total_timeout="800") == ""
    told = LogEntry.objects.first()
    assert told is not None
    assert "Default options" not in told.change_message, "written otherwise, they are the same"
    assert change() == ""
    backend.refresh_from_db()
    assert backend.default_options == {}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"passthrough_tool_types": "web search"},
            "web search&#x27; is no type of tools: write web_search, acme:search, or acme:* for all of a vendor",
        ),
        ({"passthrough_tool_types": "*"}, "is no type of tools"),
        ({"allowed_options": "a/b"}, "a/b&#x27; is no name of a field: write top_k, or * for any."),
        ({"default_options": "top_k=40"}, "This is not valid JSON"),
        ({"default_options": '{"top_p": NaN}'}, "This is not valid JSON"),
        ({"default_options": "[" * 5000}, "This is not valid JSON"),
        ({"default_options": "[]"}, "This must be a JSON object: {&quot;top_k&quot;: 40}."),
        ({"default_options": "null"}, "This must be a JSON object"),
        ({"default_options": '{"a/b": 1}'}, "This must have names of 1 to 64 letters"),
        ({"default_options": '{"stop": "\\u0000"}'}, "&#x27;stop&#x27; contains the character U+0000"),
        ({"default_options": '{"Max-Tokens": 9}'}, "&#x27;Max-Tokens&#x27; cannot be a default option"),
        ({"native_features": ["telepathy"]}, "telepathy is not one of the available choices"),
        (
            {"kind": "chat_completions", "native_features": ["allowed_tools"]},
            "Only a backend of the kind &#x27;responses&#x27; has these: leave it empty.",
        ),
        ({"kind": "gemini", "passthrough_tool_types": "web_search"}, "Only a backend of the kind"),
        ({"thinking_tags": "opened"}, "Only a Chat Completions backend leaves its reasoning in the text."),
        (
            {"token_counting": "vllm"},
            "So count backends of the kind &#x27;chat_completions&#x27; and &#x27;openai_chat_completions&#x27; alone",
        ),
        ({"kind": "gemini", "token_counting": "anthropic"}, "of the kind &#x27;anthropic&#x27; alone;"),
        ({"tools": "emulated", "structured_output": "refused"}, "Tools are emulated by structured output"),
    ],
)
def test_what_cannot_be_or_has_no_effect_is_refused_with_the_reason(
    change: Change, fields: dict[str, Any], sentence: str
) -> None:
    assert sentence in change(**fields)
    assert not Backend.objects.exists()
