"""`make run` as its user meets it: ready with a real model, healed after a crash, gone without a trace.

The project is copied into a folder that only its owner may enter, so that the data is new, and so that root's
PostgreSQL is tried where it cannot walk to its data.
"""

import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.local.demo import Demo, read_key
from config.local.environment import REPLACEABLE
from config.local.model import NAME as MODEL
from config.local.places import ROOT
from config.local.probe import status_of
from config.local.valkey import free_port

pytestmark = pytest.mark.local

COPIED = ("manage.py", "config", "responses_api", "tenants", "workers", "templates")
STOP_ORDER = ["beat", "worker", "web", "model", "Valkey", "PostgreSQL"]
READY_SECONDS = 90.0


class LocalRun:
    """A `python -m config.local` in a folder of its own, with what it printed."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.output = folder / f"output-{port}-{time.monotonic_ns()}.txt"
        ours = (*REPLACEABLE, "SECRET_KEY")  # the test run has servers of its own
        self.env = {key: value for key, value in os.environ.items() if key not in ours} | {"PORT": str(port)}
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config.local"],
                cwd=folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def printed(self) -> str:
        """Everything printed so far."""
        return self.output.read_text()

    def wait_for(self, text: str, seconds: float = READY_SECONDS) -> None:
        """Wait until it printed something."""
        end = time.monotonic() + seconds
        while text not in self.printed():
            assert self.process.poll() is None, self.printed()
            assert time.monotonic() < end, self.printed()
            time.sleep(0.05)

    def wait_until_ready(self) -> None:
        """Wait for the welcome."""
        self.wait_for("Ctrl-C stops everything")

    def end(self) -> int:
        """Wait for its end; its exit code."""
        return self.process.wait(60)

    def parts(self) -> list[int]:
        """The live processes of the run: all that carry its folder in their command line, directory or log."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_ours(pid)]

    def _is_ours(self, pid: int) -> bool:
        try:
            output = os.readlink(f"/proc/{pid}/fd/2")
        except OSError:
            return False
        return output.startswith(str(self.folder / "var"))

    def part(self, word: str) -> int:
        """The process with a word in its command line."""
        found = [pid for pid in self.parts() if word in Path(f"/proc/{pid}/cmdline").read_text()]
        assert found, f"no {word} is running"
        return found[0]

    def wait_until_gone(self, seconds: float = 20.0) -> None:
        """Wait until no process of the run is left."""
        end = time.monotonic() + seconds
        while left := self.parts():
            assert time.monotonic() < end, [Path(f"/proc/{pid}/cmdline").read_text() for pid in left]
            time.sleep(0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in a private folder, without any data."""
    private = tmp_path_factory.mktemp("private")
    private.chmod(0o700)
    copy = private / "antiphon"
    copy.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def first(folder: Path) -> Iterator[LocalRun]:
    """The first run, ready."""
    run = LocalRun(folder, free_port())
    try:
        run.wait_until_ready()
        yield run
    finally:
        if run.process.poll() is None:
            run.process.terminate()
            run.end()


def test_the_first_run_prints_commands_that_work(first: LocalRun) -> None:
    commands = [block for block in first.printed().split("\n\n") if block.startswith("curl ")]
    assert len(commands) == 2
    answer = json.loads(shell(f"{commands[0]} -sS --fail-with-body"))
    assert answer["status"] == "completed"
    assert answer["output"][0]["content"][0]["text"]
    streamed = shell(f"{commands[1]} -sS --fail-with-body")
    assert "event: response.output_text.delta" in streamed
    assert streamed.endswith("data: [DONE]\n\n")


def test_the_local_model_calls_a_function_and_goes_on_with_its_output(first: LocalRun) -> None:
    tool = {
        "type": "function",
        "name": "get_weather",
        "description": "Get the current weather for a location",
        "parameters": {
            "type": "object",
            "properties": {"location": {"type": "string", "description": "The city, e.g. San Francisco, CA"}},
            "required": ["location"],
        },
    }
    asked = {"role": "user", "content": "What's the weather like in San Francisco?"}
    called = respond(first, input=[asked], tools=[tool])
    call = called["output"][0]
    assert (call["type"], call["name"], call["status"]) == ("function_call", "get_weather", "completed")
    assert "San Francisco" in json.loads(call["arguments"])["location"]
    outputs = [
        {
            "type": "function_call_output",
            "call_id": item["call_id"],
            "output": '{"temperature": "18°C", "conditions": "foggy"}',
        }
        for item in called["output"]
    ]
    answered = respond(first, previous_response_id=called["id"], input=outputs, tools=[tool])
    assert answered["status"] == "completed"
    assert "fog" in answered["output"][0]["content"][0]["text"].lower()


def test_the_demo_file_holds_the_key_and_other_shells_find_the_parts(first: LocalRun) -> None:
    var = first.folder / "var"
    key = read_key(var / "demo.env")
    assert key is not None
    assert key in first.printed()
    assert status_of(f"http://127.0.0.1:{first.port}/v1/models", {"Authorization": f"Bearer {key}"}) == 200
    created = subprocess.run(
        [sys.executable, "manage.py", "create_tenant", "another", "--json"],
        cwd=first.folder,
        env={key: value for key, value in first.env.items() if key != "PORT"},
        capture_output=True,
        text=True,
        check=True,
    )
    key = json.loads(created.stdout)["key"]
    assert status_of(f"http://127.0.0.1:{first.port}/v1/models", {"Authorization": f"Bearer {key}"}) == 200


def test_secrets_are_for_the_owner_alone(first: LocalRun) -> None:
    var = first.folder / "var"
    assert (var / "demo.env").stat().st_mode & 0o777 == 0o600
    assert (var / "run.env").stat().st_mode & 0o777 == 0o600
    assert var.stat().st_mode & 0o777 == 0o700
    password = re.search(r"password (\S+) \(shown once\)", first.printed())
    assert password is not None
    kept = [path for path in var.rglob("*") if path.is_file() and "postgres" not in path.parts]
    assert not [path for path in kept if password[1].encode() in path.read_bytes()]


def test_a_second_run_in_the_folder_is_refused_in_a_sentence(first: LocalRun) -> None:
    second = LocalRun(first.folder, free_port())
    assert second.end() == 1
    assert f"running in this folder already (process {first.process.pid})" in second.printed()
    assert len(second.printed().splitlines()) == 1


def test_a_crashed_worker_is_named_and_started_again(first: LocalRun) -> None:
    before = first.part("config.worker")
    os.kill(before, signal.SIGKILL)
    first.wait_for("worker was ended by SIGKILL")
    first.wait_for("Starting worker again.")
    end = time.monotonic() + 30
    while not any("config.worker" in Path(f"/proc/{p}/cmdline").read_text() for p in first.parts()):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert first.part("config.worker") != before


def test_the_logs_of_a_run_that_works_are_quiet(first: LocalRun) -> None:
    logs = first.folder / "var" / "log"
    assert '"level":"error"' not in (logs / "web.log").read_text()
    assert "reap" not in (logs / "beat.log").read_text()


def test_a_stop_is_orderly_tells_a_running_stream_and_leaves_nothing(first: LocalRun) -> None:
    with long_stream(first) as events:
        assert any(line.startswith(b"event: response.output_text.delta") for line in events)
        first.process.send_signal(signal.SIGINT)
        rest = list(events)
    assert [line for line in rest if line.startswith(b"event: ")][-2:] == [
        b"event: error\n",
        b"event: response.failed\n",
    ]
    assert rest[-2:] == [b"data: [DONE]\n", b"\n"]
    assert first.end() == 0
    stopped = [line.split()[0] for line in first.printed().splitlines() if line.endswith(" stopped")]
    assert stopped == STOP_ORDER
    assert not list((first.folder / "var" / "valkey").glob("*.rdb"))
    assert first.parts() == []
    assert not list(Path("/tmp").glob(f"antiphon-{os.geteuid()}-*/programs"))


def test_a_later_run_is_ready_soon_keeps_the_data_and_dies_with_its_supervisor(first: LocalRun) -> None:
    assert first.end() == 0
    key = read_key(first.folder / "var" / "demo.env")
    began = time.monotonic()
    later = LocalRun(first.folder, first.port)
    later.wait_until_ready()
    assert time.monotonic() - began < 30  # 15 on an idle machine
    assert read_key(first.folder / "var" / "demo.env") == key
    assert "shown once" not in later.printed()
    later.process.kill()
    later.wait_until_gone()


@pytest.mark.parametrize("left", ["nothing", "a key of another database"])
def test_a_run_whose_demo_key_is_gone_makes_another_for_the_tenant(first: LocalRun, left: str) -> None:
    assert first.end() == 0
    file = first.folder / "var" / "demo.env"
    if left == "nothing":
        file.unlink()
    else:
        Demo("http://127.0.0.1:1/v1", "ak_" + "x" * 43).write(file)
    run = LocalRun(first.folder, first.port)  # comes back after the kill of the test before
    try:
        run.wait_until_ready()
        key = read_key(file)
        assert key is not None
        assert key in run.printed()
        models = f"http://127.0.0.1:{first.port}/v1/models"
        assert status_of(models, {"Authorization": f"Bearer {key}"}) == 200
        assert "shown once" not in run.printed()
    finally:
        run.process.terminate()
        assert run.end() == 0


def test_a_crashed_postgresql_is_named_and_ends_everything(first: LocalRun) -> None:
    assert first.end() == 0
    run = LocalRun(first.folder, first.port)
    run.wait_until_ready()
    os.kill(run.part("/postgres"), signal.SIGKILL)
    assert run.end() == 1
    assert "PostgreSQL was ended by SIGKILL" in run.printed()
    run.wait_until_gone()


def test_a_port_in_use_is_told_in_a_sentence(first: LocalRun) -> None:
    assert first.end() == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = LocalRun(first.folder, taken.getsockname()[1])
        assert run.end() == 1
    assert f"Port {run.port} is in use: `make run PORT={run.port + 1}` takes another." in run.printed()
    assert len(run.printed().split()) < 20


def respond(run: LocalRun, **fields: Any) -> Any:
    """What the local model answers a request."""
    with ask(run, fields) as answer:
        return json.load(answer)


def long_stream(run: LocalRun) -> http.client.HTTPResponse:
    """A stream that goes on for longer than a test."""
    prompt = "Write a very long story about a dragon, in many chapters."
    return ask(run, {"input": prompt, "stream": True})


def ask(run: LocalRun, fields: dict[str, Any]) -> http.client.HTTPResponse:
    """Ask the local model with the demo key."""
    key = read_key(run.folder / "var" / "demo.env")
    request = urllib.request.Request(
        f"http://127.0.0.1:{run.port}/v1/responses",
        json.dumps({"model": MODEL, **fields}).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    answer: http.client.HTTPResponse = opener.open(request, timeout=30)
    return answer


def shell(command: str) -> str:
    """What a command prints; it must succeed."""
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, f"{shlex.join(ended.args)}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout
