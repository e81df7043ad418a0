"""Keys that are stored with their backends: put there by a command, found by the worker, sealed anew."""

import asyncio
import io
import re
import sys
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from pytest_django import Settings

from responses_api.models import Backend
from responses_api.protocol.errors import ProtocolError
from responses_api.services import backend_keys
from responses_api.services.backend_keys import KeyLost, key_of
from tenants.models import AuditEvent
from tenants.scoping import operator_scope
from workers import secrets
from workers.secrets import find_credential

pytestmark = pytest.mark.usefixtures("database")

URL = "https://api.example.com/v1"
KEY, OTHER = "sk-robin-0123456789", "sk-wren-9876543210"
OLD, NEW = b"1" * 32, b"2" * 32


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_stored", {})


def stored(name: str = "one", key: str = KEY) -> Backend:
    backend = Backend.objects.create(name=name, base_url=URL)
    backend_keys.store(backend, key)
    return backend


def add_backend(*arguments: str, key: str | None = None, url: str = URL) -> tuple[str, str]:
    out, err, stdin = StringIO(), StringIO(), sys.stdin
    sys.stdin = io.StringIO(key or "")
    try:
        call_command(
            "add_backend", "one", "--base-url", url, "--model", "m", *arguments, stdout=out, stderr=err
        )
    finally:
        sys.stdin = stdin
    return out.getvalue(), err.getvalue()


def found(backend: Backend) -> str | None:
    return asyncio.run(find_credential(backend.spec()))


def reason_of(backend: Backend) -> str:
    with pytest.raises(ProtocolError) as caught:
        found(backend)
    assert caught.value.message == "The credentials of the model's backend are not configured."
    return caught.value.reason or ""


def test_a_key_that_the_command_was_given_stays_until_it_is_given_another_or_removes_it() -> None:
    printed = "".join(add_backend("--api-key-stdin", key=f"{KEY}\n"))
    assert (key_of("one", URL), KEY in printed) == (KEY, False)
    add_backend("--idle-timeout", "7")
    assert key_of("one", URL) == KEY
    add_backend("--api-key-stdin", key=OTHER)
    assert key_of("one", URL) == OTHER
    add_backend("--api-key-env", "EXAMPLE_KEY")
    add_backend("--idle-timeout", "8")
    assert (Backend.objects.get().sealed_key, Backend.objects.get().api_key_env) == ("", "EXAMPLE_KEY")
    add_backend("--api-key-stdin", key=KEY)
    assert Backend.objects.get().api_key_env == ""
    add_backend("--remove-api-key")
    assert not Backend.objects.get().spec().has_stored_key
    add_backend("--api-key-env", "EXAMPLE_KEY")
    add_backend("--remove-api-key")
    assert not Backend.objects.get().api_key_env
    with operator_scope():
        assert "sk-" not in str([*AuditEvent.objects.values_list("subject", "details")])


def test_the_command_refuses_two_keys_no_key_and_a_key_on_the_move() -> None:
    with pytest.raises(CommandError, match="not allowed with argument"):
        add_backend("--api-key-stdin", "--api-key-env", "EXAMPLE_KEY", key=KEY)
    for nothing in ("", "two words", "ü"):
        with pytest.raises(CommandError, match="This is no key"):
            add_backend("--api-key-stdin", key=nothing)
    assert not Backend.objects.exists()
    add_backend("--api-key-stdin", key=KEY)
    with pytest.raises(CommandError, match="The stored key was meant for another server"):
        add_backend(url="https://elsewhere.example.net/v1")
    add_backend("--remove-api-key", url="https://elsewhere.example.net/v1")


def test_the_command_says_what_a_backend_can_do_and_keeps_what_it_is_not_told() -> None:
    lists = ("--native-features", "allowed_tools", "--passthrough-tool-types", "web_search,acme:*")
    add_backend("--kind", "responses", "--files", "refused", "--reasoning", "none", *lists)
    add_backend("--kind", "responses", "--allowed-options", "top_k, min_p")
    spec = Backend.objects.get().spec()
    assert (spec.files, spec.reasoning, spec.native_features) == ("refused", "none", ["allowed_tools"])
    assert (spec.passthrough_tool_types, spec.allowed_options) == (
        ["web_search", "acme:*"],
        ["top_k", "min_p"],
    )
    add_backend()
    assert Backend.objects.get().kind == "responses"
    with pytest.raises(CommandError, match="native_features: Only a backend of the kind 'responses'"):
        add_backend("--kind", "anthropic")
    add_backend("--kind", "anthropic", "--native-features", "", "--passthrough-tool-types", "")
    assert (Backend.objects.get().kind, Backend.objects.get().native_features) == ("anthropic", [])
    with pytest.raises(CommandError, match="'a/b' is no name of a field: write top_k"):
        add_backend("--allowed-options", "a/b")


def test_the_command_sets_default_options_all_of_them_together() -> None:
    def told() -> object:
        return Backend.objects.get().spec().default_options

    add_backend("--default-option", 'logit_bias={"2": 3}', "--default-option", 'stop="a=b"')
    assert told() == {"logit_bias": {"2": 3}, "stop": "a=b"}
    add_backend()
    assert told() == {"logit_bias": {"2": 3}, "stop": "a=b"}
    add_backend("--default-option", "top_k=40")
    assert told() == {"top_k": 40}
    for wrong, sentence in (
        (("top_k",), "'top_k' is not NAME=JSON: write top_k=40"),
        (("stop=END",), "'stop=END' is not NAME=JSON: The value is not valid JSON"),
        (("top_p=NaN",), "is not NAME=JSON"),
        (("top_k=1", "top_k=2"), "--default-option: 'top_k' is told more than once."),
        (("=1",), "default_options: This must have names of 1 to 64 letters"),
        (("maxTokens=9",), "default_options: 'maxTokens' cannot be a default option: this service sets it"),
    ):
        with pytest.raises(CommandError, match=re.escape(sentence)):
            add_backend(*(word for text in wrong for word in ("--default-option", text)))
    assert told() == {"top_k": 40}
    add_backend("--default-option", "")
    assert told() == {}


def test_no_dump_of_the_database_shows_a_key() -> None:
    stored()
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(t)::text FROM responses_api_backend t")
        ((row,),) = cursor.fetchall()
    assert '"name":"one"' in row
    assert KEY not in row


def test_a_worker_finds_a_stored_key_and_a_changed_one_in_time(settings: Settings) -> None:
    settings.CACHE_SECONDS = 60
    backend = stored()
    assert found(backend) == KEY
    backend_keys.store(backend, OTHER)
    assert found(backend) == KEY, "it was read a moment ago"
    settings.CACHE_SECONDS = 0
    assert found(backend) == OTHER
    assert KEY not in repr(secrets._stored)
    assert OTHER not in repr(secrets._stored)


def test_each_backend_has_its_own_key_and_none_has_that_of_another() -> None:
    one, two = stored(), stored("two", OTHER)
    assert (found(one), found(two)) == (KEY, OTHER)
    Backend.objects.filter(name="two").update(sealed_key=one.sealed_key)
    with pytest.raises(KeyLost, match="does not open"):
        key_of("two", URL)


def test_a_key_that_is_gone_or_lost_or_meant_for_another_server_is_told_of_in_the_log_alone(
    settings: Settings,
) -> None:
    settings.CACHE_SECONDS = 0
    settings.SEAL_KEYS = (OLD,)
    backend = stored()
    settings.SEAL_KEYS = (NEW,)
    assert "ANTIPHON_SEAL_KEYS lacks the key" in reason_of(backend)
    settings.SEAL_KEYS = (NEW, OLD)
    assert found(backend) == KEY
    before = Backend.objects.get()
    Backend.objects.update(base_url="https://elsewhere.example.net/v1")
    assert reason_of(before) == "the backend is at another server by now"
    Backend.objects.update(base_url=URL, sealed_key="")
    assert reason_of(before) == "no key is stored with the backend any more"
    Backend.objects.all().delete()
    assert reason_of(before) == "no key is stored with the backend any more"


def test_a_key_that_was_found_lasts_while_the_database_does_not_answer(settings: Settings) -> None:
    settings.CACHE_SECONDS = 0
    settings.STATEMENT_SECONDS = 0.05
    backend, unknown = stored(), stored("two", OTHER)
    assert found(backend) == KEY
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE responses_api_backend")
        assert found(backend) == KEY
        with pytest.raises(ProtocolError) as away:
            found(unknown)
    assert (away.value.status, away.value.code) == (503, "overloaded")


def test_what_is_sealed_anew_needs_the_old_seal_key_no_more(settings: Settings) -> None:
    settings.SEAL_KEYS = (OLD,)
    stored()
    Backend.objects.create(name="without", base_url=URL)
    settings.SEAL_KEYS = (NEW, OLD)
    out = StringIO()
    call_command("reseal_backends", stdout=out)
    assert out.getvalue() == "Sealed anew: one\n"
    with operator_scope():
        assert [*AuditEvent.objects.values_list("action", "subject")] == [("backend.resealed", "one")]
    settings.SEAL_KEYS = (NEW,)
    assert key_of("one", URL) == KEY
    settings.SEAL_KEYS = (OLD,)
    with pytest.raises(CommandError, match="do not open any more; give them again: one"):
        call_command("reseal_backends", stdout=out)
