"""Schemathesis asks the running service whatever `/openapi.json` allows and forbids, and finds nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.local.places import ROOT
from tests.support.service import Service

HOOKS = "tests.e2e.schemathesis_hooks"
MINUTES = 8
"""Much more than it takes: a busy machine is no finding."""


def config(service: Service, folder: Path) -> Path:
    """Both tenants, so that what is one's is never shown to the other; a bounded number of requests."""
    users = folder / "users.json"
    tenants = [user("friend", service.friend.key), user("stranger", service.stranger.key)]
    users.write_text(json.dumps({"auth": tenants}))
    path = folder / "schemathesis.toml"
    path.write_text(f"""
workers = 1
continue-on-failure = true
[auth.wfc]
path = "{users}"
user = "friend"
peers = ["friend", "stranger"]
[generation]
max-examples = 15
allow-x00 = false
database = "none"
deterministic = true
[checks.positive_data_acceptance]
enabled = false  # the hooks have it
""")
    return path


def user(name: str, key: str | None) -> dict[str, object]:
    return {"name": name, "fixedHeaders": [{"name": "Authorization", "value": f"Bearer {key}"}]}


def test_schemathesis_finds_nothing(service: Service, tmp_path: Path) -> None:
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "--config-file",
        str(config(service, tmp_path)),
        "run",
        f"{service.root_url}/openapi.json",
        "--no-color",
    ]
    environment = os.environ | {"SCHEMATHESIS_HOOKS": HOOKS, "PYTHONPATH": str(ROOT)}
    told = tmp_path / "told"
    with told.open("wb") as output:
        try:
            run = subprocess.run(
                command,
                cwd=tmp_path,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=MINUTES * 60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            pytest.fail(f"schemathesis was not done after {MINUTES} minutes:\n{told.read_text()}")
    assert run.returncode == 0, told.read_text()
