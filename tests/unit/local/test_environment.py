"""What the user set wins; what the embedded parts chose is kept for other shells and the next run."""

import os
from pathlib import Path

import pytest

from config.local.environment import Environment
from config.local.errors import LocalError
from config.mail import mail_mistakes, mail_settings


@pytest.fixture
def var(tmp_path: Path) -> Path:
    folder = tmp_path / "var"
    folder.mkdir()
    return folder


def read(var: Path, **environment: str) -> Environment:
    return Environment.read(var.parent, var, environment)


def test_a_dot_env_replaces_a_part_and_the_environment_wins_over_it(var: Path) -> None:
    (var.parent / ".env").write_text("DATABASE_URL=postgres://from-file/db\nVALKEY_URL=redis://from-file\n")
    environment = read(var, VALKEY_URL="redis://from-shell")
    assert environment.replaces("DATABASE_URL")
    assert environment.for_children()["DATABASE_URL"] == "postgres://from-file/db"
    assert environment.for_children()["VALKEY_URL"] == "redis://from-shell"


def test_an_empty_variable_replaces_nothing(var: Path) -> None:
    assert not read(var, DATABASE_URL="").replaces("DATABASE_URL")


def test_reading_leaves_our_own_environment_alone(var: Path) -> None:
    (var.parent / ".env").write_text("ANTIPHON_NEVER_SET=1\n")
    assert read(var).given["ANTIPHON_NEVER_SET"] == "1"
    assert "ANTIPHON_NEVER_SET" not in os.environ


def test_addresses_and_secrets_outlive_the_run(var: Path) -> None:
    first = read(var)
    first.embedded["VALKEY_URL"] = "redis://:pa-ss@127.0.0.1:4711/0"
    first.write()
    second = read(var)
    assert second.last_port("VALKEY_URL") == 4711
    assert second.last_password("VALKEY_URL") == "pa-ss"
    assert second.embedded["SECRET_KEY"] == first.embedded["SECRET_KEY"]
    assert os.stat(first.run_file).st_mode & 0o777 == 0o600


def test_the_last_runs_addresses_are_not_taken_for_the_users(var: Path) -> None:
    first = read(var)
    first.embedded["DATABASE_URL"] = "postgresql://antiphon@/antiphon?host=/tmp/x"
    first.write()
    assert not read(var).replaces("DATABASE_URL")


def test_a_first_run_has_no_addresses(var: Path) -> None:
    assert read(var).last_port("VALKEY_URL") is None


def test_it_listens_where_it_is_told(var: Path) -> None:
    assert read(var).listen_address() == ("127.0.0.1", 8000)
    assert read(var, PORT="9001", HOST="::1").listen_address() == ("::1", 9001)


@pytest.mark.parametrize("port", ["http", "0", "65536", "-1", "８０"])
def test_a_port_that_is_none_is_refused_in_words(var: Path, port: str) -> None:
    with pytest.raises(LocalError, match="is no port"):
        read(var, PORT=port).listen_address()


def test_who_tries_the_service_can_sign_up_and_read_the_mails(var: Path) -> None:
    told = read(var).for_children()
    assert told["ANTIPHON_SIGNUP"] == "open"
    assert mail_settings(told["EMAIL_URL"])["EMAIL_FILE_PATH"] == str(var / "mail")
    assert not mail_mistakes


def test_a_mail_server_and_a_sign_up_of_ones_own_win(var: Path) -> None:
    told = read(var, EMAIL_URL="smtp://mail.example", ANTIPHON_SIGNUP="closed").for_children()
    assert (told["EMAIL_URL"], told["ANTIPHON_SIGNUP"]) == ("smtp://mail.example", "closed")
