"""Installing says in one sentence what is wrong, and does nothing a second time."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from config.local import install
from config.local.places import ROOT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project folder with nothing in it but the installer and an empty lock."""
    (tmp_path / "config" / "local").mkdir(parents=True)
    shutil.copy(ROOT / "config" / "local" / "install.py", tmp_path / "config" / "local")
    (tmp_path / "empty.lock").write_text("")
    return tmp_path


def run(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "config/local/install.py", *arguments],
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_old_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    with pytest.raises(install.InstallError, match=r"needs Python 3\.11 or newer, this is 3\.9"):
        install.check_python()


def test_it_installs_once_and_says_when_no_index_answers(project: Path) -> None:
    first = run(project, "empty.lock")
    assert first.returncode == 0, first.stderr
    assert "ready" in first.stdout
    assert run(project, "empty.lock").stdout == ""

    pinned = f"nothing-of-this-name==1.0 --hash=sha256:{'0' * 64}\n"
    (project / "real.lock").write_text(pinned)
    nowhere = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_FIND_LINKS": "",
    }
    failed = run(project, "real.lock", **nowhere)
    assert failed.returncode == 1
    assert "no package index answers" in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_a_place_that_cannot_be_written_is_named(project: Path) -> None:
    (project / "var").write_text("in the way")
    failed = run(project, "empty.lock")
    assert failed.returncode == 1
    assert f"{project}/var" in failed.stderr
    assert "cannot be written" in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_a_port_in_use_is_told_before_anything_is_installed(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = run(project, "--run", "empty.lock", PORT=str(port), HOST="")
        assert refused.returncode == 1
        assert refused.stderr == f"Port {port} is in use: `make run PORT={port + 1}` takes another.\n"
        assert not (project / ".venv").exists()
        assert run(project, "empty.lock", PORT=str(port)).returncode == 0


@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", "http"), ("127.0.0.1", "70000"), ("192.0.2.1", "8000")]
)
def test_an_address_that_is_none_is_left_to_the_run(
    monkeypatch: pytest.MonkeyPatch, host: str, port: str
) -> None:
    monkeypatch.setenv("HOST", host)
    monkeypatch.setenv("PORT", port)
    install.check_port()
