"""The demo tenant's file can be sourced, is private, and its commands can be pasted."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from config.local.demo import Demo, key_of, read_key, welcome
from config.local.errors import LocalError

DEMO = Demo("http://127.0.0.1:8000/v1", "ak_secret")


def test_a_shell_can_source_the_file(tmp_path: Path) -> None:
    DEMO.write(tmp_path / "demo.env")
    script = f". {shlex.quote(str(tmp_path / 'demo.env'))}; env"
    printed = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, env={}).stdout
    assert "OPENAI_BASE_URL=http://127.0.0.1:8000/v1\n" in printed
    assert "OPENAI_API_KEY=ak_secret\n" in printed
    assert "MODEL=smollm2-135m\n" in printed


def test_the_file_is_private_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "demo.env"
    assert read_key(path) is None
    path.write_text("old")
    path.chmod(0o644)
    DEMO.write(path)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert read_key(path) == "ak_secret"


def test_the_key_is_found_among_log_lines() -> None:
    printed = 'a warning\n{"event": "tenant created"}\n{"tenant": "t", "name": "demo", "key": "ak_1"}\n'
    assert key_of(printed) == "ak_1"


def test_no_key_is_an_error() -> None:
    with pytest.raises(LocalError, match="printed no key"):
        key_of("nothing\n")


def test_the_welcome_has_two_commands_a_shell_understands() -> None:
    text = welcome(DEMO, "http://127.0.0.1:8000", "pass", "var/mail")
    commands = [block for block in text.split("\n\n") if block.startswith("curl ")]
    plain, streamed = (shlex.split(command.replace("\\\n", " ")) for command in commands)
    assert "http://127.0.0.1:8000/v1/responses" in plain
    assert "-N" in streamed
    assert "password pass (shown once)" in text
    assert "mails go to var/mail" in text
    assert "password" not in welcome(DEMO, "http://127.0.0.1:8000", None, "var/mail")


def test_a_tenant_that_is_switched_off_has_no_key(tmp_path: Path) -> None:
    without = Demo(DEMO.base_url, "")
    without.write(tmp_path / "demo.env")
    assert read_key(tmp_path / "demo.env") is None
    assert "none: the tenant 'demo' is switched off" in welcome(
        without, "http://127.0.0.1:8000", None, "var/mail"
    )
