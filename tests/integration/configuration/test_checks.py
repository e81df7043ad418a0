"""`manage.py check`: each mistake has an id and says what would be right."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import environ
import psycopg
import pytest
from django.core.checks import CheckMessage, run_checks
from django.db import connection, transaction
from psycopg import sql
from pytest_django import Settings

from config import variables
from config.mail import NOWHERE, mail_mistakes, mail_settings
from config.sign_in import oidc_apps, oidc_mistakes
from config.starting_limits import read_starting_limits
from responses_api.models import Backend, Route
from responses_api.services import backend_keys


def found(databases: list[str] | None = None) -> dict[str, CheckMessage]:
    messages = run_checks(databases=databases)
    return {message.id or "": message for message in messages if (message.id or "").startswith("antiphon.")}


@contextmanager
def as_role_with(attribute: str) -> Iterator[None]:
    """Be a role with this attribute, which only a superuser can make: the embedded server's lets everybody in."""
    own = connection.get_connection_params()
    role = sql.Identifier(f"{own['dbname']}_{attribute.lower()}")
    try:
        superuser = psycopg.connect(
            host=own.get("host"), port=own.get("port"), dbname=own["dbname"], user="postgres", autocommit=True
        )
    except psycopg.OperationalError:
        pytest.skip("this server lets nobody be a superuser")
    with superuser, connection.cursor() as cursor:
        superuser.execute(sql.SQL("CREATE ROLE {} {}").format(role, sql.SQL(attribute)))
        superuser.execute(sql.SQL("GRANT {} TO {}").format(role, sql.Identifier(own["user"])))
        superuser.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(role))
        try:
            cursor.execute(sql.SQL("SET ROLE {}").format(role))
            yield
        finally:
            cursor.execute("RESET ROLE")
            superuser.execute(sql.SQL("DROP OWNED BY {}").format(role))
            superuser.execute(sql.SQL("DROP ROLE {}").format(role))


@pytest.fixture
def backend(database: None) -> Backend:
    backend = Backend.objects.create(name="one", base_url="http://127.0.0.1:9/v1")
    Route.objects.create(model="a", backend=backend)
    return backend


def test_a_good_configuration_has_no_complaint(backend: Backend, settings: Settings) -> None:
    assert found(["default"]) == {}


def test_a_secret_key_that_was_made_up_is_told(settings: Settings) -> None:
    settings.INSECURE_SECRET_KEY = True
    assert set(found()) == {"antiphon.W001"}


@pytest.mark.parametrize("url", ["mysql://me@127.0.0.1/antiphon", "sqlite:////tmp/antiphon.db"])
def test_another_database_than_postgresql_is_refused(url: str, settings: Settings) -> None:
    environment = {**os.environ, "DATABASE_URL": url}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "check"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert "antiphon.E001" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:6379",
        "",
        "127.0.0.1:6379",
        "valkey://127.0.0.1:6379",
        "redis://host:port/0",
        "unix://",
    ],
)
def test_an_address_that_is_no_valkeys_is_refused(url: str, settings: Settings) -> None:
    settings.VALKEY_URL = url
    assert set(found()) == {"antiphon.E002"}


@pytest.mark.parametrize("url", ["redis://a:6379/0", "rediss://:p@a:6379/0", "unix:///run/valkey.sock?db=1"])
def test_an_address_that_the_client_reads_is_taken(url: str, settings: Settings) -> None:
    settings.VALKEY_URL = url
    assert found() == {}


def test_the_complaint_about_an_address_does_not_tell_its_password(settings: Settings) -> None:
    settings.VALKEY_URL = settings.CELERY_BROKER_URL = "redis://:a/secret@host:6379"
    messages = found()
    assert set(messages) == {"antiphon.E002", "antiphon.E006"}
    assert "secret" not in "".join(f"{message.msg} {message.hint}" for message in messages.values())


@pytest.mark.parametrize(
    "url", ["valkey://127.0.0.1:6379", "unix:///run/valkey.sock", "http://a", "127.0.0.1:6379", "sqs://"]
)
def test_a_broker_that_celery_does_not_know_is_refused(url: str, settings: Settings) -> None:
    settings.CELERY_BROKER_URL = url
    messages = found()
    assert set(messages) == {"antiphon.E006"}
    assert "redis+socket:///" in str(messages["antiphon.E006"].hint)


@pytest.mark.parametrize(
    "url", ["redis+socket:///run/valkey.sock", "rediss://a", "amqp://u:p@a//", "amqps://a"]
)
def test_a_broker_that_celery_knows_is_taken(url: str, settings: Settings) -> None:
    settings.CELERY_BROKER_URL = url
    assert found() == {}


@pytest.mark.parametrize("exempt", ["SUPERUSER", "BYPASSRLS"])
def test_a_role_that_row_level_security_does_not_bind_is_refused(exempt: str, backend: Backend) -> None:
    with as_role_with(exempt):
        assert set(found(["default"])) == {"antiphon.E005"}
        assert found() == {}
    assert found(["default"]) == {}


@pytest.mark.parametrize("value", ["soon", "0", "-3", "inf", "nan"])
def test_a_number_that_is_none_or_not_above_zero_is_named_and_its_default_used(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTIPHON_LEASE_SECONDS", value)
    monkeypatch.setattr("config.variables.mistakes", [])
    monkeypatch.setattr("config.checks.mistakes", variables.mistakes)
    assert variables.positive(environ.Env().float, "ANTIPHON_LEASE_SECONDS", 8.0) == 8.0
    messages = found()
    assert set(messages) == {"antiphon.E003"}
    assert "ANTIPHON_LEASE_SECONDS" in messages["antiphon.E003"].msg


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("OFF", False), ("0", False), ("", True), (" yes ", True)]
)
def test_a_switch_is_on_or_off(value: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_WEBSOCKET", value)
    monkeypatch.setattr("config.variables.mistakes", [])
    assert variables.switch("ANTIPHON_WEBSOCKET", default=True) is expected
    assert variables.mistakes == []


@pytest.mark.parametrize("default", [True, False])
def test_a_switch_that_is_neither_is_named_and_its_default_used(
    default: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTIPHON_WEBSOCKET", "perhaps")
    monkeypatch.setattr("config.variables.mistakes", [])
    monkeypatch.setattr("config.checks.mistakes", variables.mistakes)
    assert variables.switch("ANTIPHON_WEBSOCKET", default=default) is default
    messages = found()
    assert set(messages) == {"antiphon.E003"}
    assert "ANTIPHON_WEBSOCKET" in messages["antiphon.E003"].msg


@pytest.mark.parametrize(("value", "expected"), [("0", None), ("0.0", None), ("30", 30.0), ("-1", 365.0)])
def test_a_number_whose_zero_means_no_limit(
    value: str, expected: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTIPHON_SEAL_DAYS", value)
    monkeypatch.setattr("config.variables.mistakes", [])
    assert variables.positive_or_none(environ.Env().float, "ANTIPHON_SEAL_DAYS", 365.0) == expected
    assert len(variables.mistakes) == (value == "-1")


def test_an_entry_that_is_no_seal_key_is_told_with_how_to_make_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.checks.seal_key_mistakes", ["Entry 1 of ANTIPHON_SEAL_KEYS is not 32 bytes."])
    messages = found()
    assert set(messages) == {"antiphon.E008"}
    assert "openssl rand -base64 32" in str(messages["antiphon.E008"].hint)


def test_an_entry_that_is_no_limit_is_told_with_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    mistakes: list[str] = []
    monkeypatch.setattr("config.starting_limits.starting_limit_mistakes", mistakes)
    monkeypatch.setattr("config.checks.starting_limit_mistakes", mistakes)
    assert read_starting_limits("tokens_per_day=5,token_per_day=5") == (("tokens_per_day", 5),)
    messages = found()
    assert set(messages) == {"antiphon.E012"}
    assert "'token_per_day' is no metric" in messages["antiphon.E012"].msg


def test_sealing_with_the_key_of_the_sessions_is_told_before_a_deployment(settings: Settings) -> None:
    assert "antiphon.W004" not in found()
    deploying = {message.id for message in run_checks(include_deployment_checks=True)}
    assert "antiphon.W004" in deploying
    settings.SEAL_KEYS = (b"k" * 32,)
    assert "antiphon.W004" not in {message.id for message in run_checks(include_deployment_checks=True)}


@pytest.mark.parametrize(("name", "value"), [("LOG_LEVEL", "LOUD"), ("LOG_FORMAT", "poem")])
def test_an_unknown_way_to_log_is_told_with_the_known_ones(name: str, value: str, settings: Settings) -> None:
    setattr(settings, name, value)
    messages = found()
    assert set(messages) == {"antiphon.E004"}
    assert name in messages["antiphon.E004"].msg


def test_no_backend_is_told_with_the_command_that_helps(database: None) -> None:
    assert "add_backend" in str(found(["default"])["antiphon.W002"].hint)


def test_a_backend_that_is_switched_off_counts_as_none(backend: Backend) -> None:
    Backend.objects.update(is_enabled=False)
    assert set(found(["default"])) == {"antiphon.W002"}


def test_a_key_variable_that_is_not_set_is_named(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    Backend.objects.update(api_key_env="NO_SUCH_KEY")
    messages = found(["default"])
    assert set(messages) == {"antiphon.W003"}
    assert "NO_SUCH_KEY" in messages["antiphon.W003"].msg


def test_a_stored_key_that_does_not_open_is_told_with_its_backend(
    backend: Backend, settings: Settings
) -> None:
    Backend.objects.update(api_key_env="")
    settings.SEAL_KEYS = (b"1" * 32,)
    backend_keys.store(Backend.objects.get(), "sk-robin-0123456789")
    assert found(["default"]) == {}
    settings.SEAL_KEYS = (b"2" * 32,)
    messages = found(["default"])
    assert set(messages) == {"antiphon.W009"}
    assert "'one' does not open" in messages["antiphon.W009"].msg


def test_without_the_database_option_the_database_is_not_asked(settings: Settings) -> None:
    assert found() == {}


def test_a_command_says_why_it_cannot_connect_and_waits_for_no_pool(settings: Settings) -> None:
    nowhere = {**os.environ, "DATABASE_URL": "postgresql://nobody@/nothing?host=/nonexistent"}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "check", "--database", "default"]
    ended = subprocess.run(command, env=nowhere, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert ended.stderr.count("antiphon.E007") == 1
    assert "/nonexistent/" in ended.stderr
    assert "`make run`" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "couldn't get a connection" not in ended.stderr


def test_a_database_that_an_older_version_made_is_checked_before_it_is_migrated(backend: Backend) -> None:
    lasting = {"id", "name", "kind", "base_url", "api_key_env", "is_enabled"}
    newer = [field.column for field in Backend._meta.local_fields if field.column not in lasting]
    with connection.cursor() as cursor, transaction.atomic():
        for column in newer:
            cursor.execute(f'ALTER TABLE responses_api_backend DROP COLUMN "{column}"')
        assert set(found(["default"])) <= {"antiphon.W003"}
        transaction.set_rollback(True)


def test_tables_of_another_version_are_told_with_the_command_that_helps(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute("DELETE FROM django_migrations WHERE app = 'responses_api'")
        assert "migrate" in str(found(["default"])["antiphon.W005"].hint)
        monkeypatch.setattr("sys.argv", ["manage.py", "migrate"])
        assert "antiphon.W005" not in found(["default"])
        transaction.set_rollback(True)


@pytest.mark.parametrize("entry", ["everybody", "192.0.2.7/24", "0.0.0.0/0", "::/0"])
def test_a_trusted_proxy_that_is_none_is_named(entry: str, settings: Settings) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8", "unix", entry]
    (message,) = found().values()
    assert message.id == "antiphon.E009"
    assert entry in message.msg


@pytest.mark.parametrize("entry", ["192.0.2.7/24", "0.0.0.0/0", "*", "http://mcp.internal"])
def test_an_address_that_may_be_reached_and_is_none_is_named(entry: str, settings: Settings) -> None:
    settings.EGRESS_ALLOW = ["10.0.0.0/8", "mcp.internal", entry]
    (message,) = found().values()
    assert message.id == "antiphon.E014"
    assert entry in message.msg


@pytest.mark.parametrize(
    ("url", "model", "key", "is_wrong"),
    [
        ("", "", "", False),
        ("https://embed.example/v1", "small", "", False),
        ("https://embed.example/v1", "", "", True),
        ("", "small", "", True),
        ("", "", "sk-1", True),
        ("embed.example", "small", "", True),
    ],
)
def test_a_server_of_embeddings_is_configured_whole_or_not_at_all(
    url: str, model: str, key: str, is_wrong: bool, settings: Settings
) -> None:
    settings.EMBEDDING_URL, settings.EMBEDDING_MODEL, settings.EMBEDDING_KEY = url, model, key
    assert ("antiphon.E015" in found()) is is_wrong


# ---------------------------------------------------------------- accounts


@pytest.mark.parametrize(
    "url",
    [
        "mail.example",
        "http://mail.example",
        "smtp://",
        "smtp://a:b",
        "consolemail://",
        "smtp+tls://u:secret@",
    ],
)
def test_an_address_that_is_no_mail_servers_is_told_without_its_password(url: str) -> None:
    try:
        assert mail_settings(url) == mail_settings(NOWHERE)
        messages = found()
        assert set(messages) == {"antiphon.E010"}
        assert "secret" not in messages["antiphon.E010"].msg
    finally:
        mail_mistakes.clear()


@pytest.mark.parametrize(
    ("url", "host", "port", "tls"),
    [
        ("smtp://mail.example", "mail.example", 25, False),
        ("smtp+tls://u:p%40ss@mail.example", "mail.example", 587, True),
        ("smtp+tls://u:p@mail.example:2525", "mail.example", 2525, True),
    ],
)
def test_the_address_of_a_mail_server_is_read(url: str, host: str, port: int, tls: bool) -> None:
    read = mail_settings(url)
    assert (read["EMAIL_HOST"], read["EMAIL_PORT"], read.get("EMAIL_USE_TLS", False)) == (host, port, tls)
    assert not mail_mistakes


def test_a_sign_up_whose_mails_go_nowhere_is_told(settings: Settings) -> None:
    settings.EMAIL_URL_IS_SET = False
    settings.SIGNUP = "open"
    assert set(found()) == {"antiphon.W006"}
    settings.SIGNUP = "closed"
    assert found() == {}


@pytest.mark.parametrize(
    ("issuer", "client_id", "secret"),
    [
        ("https://id.example", "", "s"),
        ("", "c", ""),
        ("http://id.example", "c", "s"),
        ("id.example", "c", "s"),
    ],
)
def test_a_provider_that_is_half_configured_is_told(issuer: str, client_id: str, secret: str) -> None:
    try:
        assert oidc_apps(name="n", issuer=issuer, client_id=client_id, secret=secret) == []
        assert set(found()) == {"antiphon.E011"}
    finally:
        oidc_mistakes.clear()


def test_a_provider_that_is_configured_is_no_mistake() -> None:
    assert len(oidc_apps(name="n", issuer="https://id.example/realm/", client_id="c", secret="s")) == 1
    assert found() == {}


def test_a_choice_that_there_is_not_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_SIGNUP", "everybody")
    try:
        assert variables.choice("ANTIPHON_SIGNUP", ("invitation", "open")) == "invitation"
        assert "one of invitation, open" in str(found()["antiphon.E003"].msg)
    finally:
        variables.mistakes.clear()


def test_routes_that_are_checked_on_schedule_need_an_address(settings: Settings) -> None:
    for hours, address, is_wrong in (
        (None, "", False),
        (6.0, "", True),
        (6.0, "127.0.0.1:8000/v1", True),
        (None, "ftp://127.0.0.1/v1", True),
        (6.0, "http://127.0.0.1:8000/v1", False),
    ):
        settings.CONFORMANCE_HOURS, settings.CONFORMANCE_URL = hours, address
        assert ("antiphon.E013" in found()) is is_wrong, (hours, address)


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ("", None, ""),
        ("0", None, ""),
        ("0.5", 0.5, ""),
        ("-1", None, "0 for never"),
        ("x", None, "no"),
        ("inf", None, ""),
    ],
)
def test_nothing_and_zero_switch_off(
    text: str, value: float | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_HOURS", text)
    monkeypatch.setattr(variables, "mistakes", told := list[str]())
    assert variables.positive_or_off(environ.Env().float, "SOME_HOURS") == value
    assert words in "".join(told)
    assert bool(told) is (text in ("-1", "x", "inf"))
