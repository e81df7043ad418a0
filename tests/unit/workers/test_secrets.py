"""The credentials of backends: the environment first, else the file as it is now."""

import os
from pathlib import Path

import pytest
from pytest_django import Settings

from workers.secrets import secret


@pytest.fixture
def file(tmp_path: Path, settings: Settings) -> Path:
    """An `.env` of the test's own."""
    settings.ENV_FILES_IN_USE = (tmp_path / ".env",)
    settings.ENV_FILE_NAMES = frozenset({"FROM_FILE"})
    return tmp_path / ".env"


def write(file: Path, text: str, at: int) -> None:
    file.write_text(text)
    os.utime(file, (at, at))


def test_a_key_that_is_added_and_corrected_later_counts_at_once(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The settings have put what the file held at the start into the environment.
    monkeypatch.setenv("FROM_FILE", "wrong")
    assert secret("FROM_FILE") is None
    write(file, "FROM_FILE=wrong\n", 1)
    assert secret("FROM_FILE") == "wrong"
    write(file, "FROM_FILE=right\nLATER=too\n", 2)
    assert (secret("FROM_FILE"), secret("LATER")) == ("right", "too")
    assert "LATER" not in os.environ, "what a backend's row names is nobody else's variable"


def test_the_environment_comes_before_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIVEN", "environment")
    write(file, "GIVEN=file\n", 1)
    assert secret("GIVEN") == "environment"


def test_what_nobody_names_is_none(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    assert (secret("EMPTY"), secret("NO_SUCH_VARIABLE")) == (None, None)
