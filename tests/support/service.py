"""The whole service as real processes: daphne, a Celery worker and beat, with a scripted upstream behind it.

Everything it needs is its own: a database, a Valkey number, a port, two tenants. One tenant is the friend
whose calls a test is about; the other is the stranger, who must never see any of it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from config.local.environment import Environment
from config.local.parts import Parts
from config.local.places import ROOT
from config.local.valkey import free_port
from tests.support.client import Client, wait_until
from tests.support.cluster import with_database
from tests.support.databases import drop_database, fresh_database
from tests.support.processes import Process
from tests.support.upstream import ScriptedUpstream

MODEL = "test-model"
UPSTREAM_MODEL = "upstream-model"
UPSTREAM_KEY = "sk-upstream-secret"
READY_SECONDS = 40.0

FIRST_DATABASE = 16
"""Valkey databases below this one belong to the test processes themselves, the last one to a test of all keys."""

_DATABASES = range(FIRST_DATABASE, 63)
_taken: set[int] = set()


class Service:
    """The processes and what a test needs to talk to them.

    `name` keeps the databases of services that run at the same time apart. `settings` are environment variables on top
    of the defaults of a test service.
    """

    def __init__(self, name: str, folder: Path, settings: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.root_url = f"http://127.0.0.1:{self.port}"
        self.base_url = f"{self.root_url}/v1"
        self.root = Client(self.root_url)
        self.upstream = ScriptedUpstream(actor=True)
        self._name = f"antiphon_{name}_{os.environ.get('PYTEST_XDIST_WORKER', 'gw0')}"
        self._number = -1
        self._servers = {key: os.environ[key] for key in ("DATABASE_URL", "VALKEY_URL")}
        self._settings = settings or {}
        self.env: dict[str, str] = {}
        self.processes: list[Process] = []

    # ---- life

    def start(self) -> Self:
        """Bring everything up and return when the service says it is ready."""
        self.upstream.start()
        self._number = take_database()
        self.env = self._environment()
        parts = self._parts()
        parts.logs.mkdir(parents=True, exist_ok=True)
        self.web = Process(parts.web("127.0.0.1", self.port))
        self.worker = Process(parts.worker())
        self.beat = Process(parts.beat())
        self.processes = [self.web, self.worker, self.beat]
        _, friend, stranger, _ = self.manage_all(
            ("migrate", "--verbosity=0"),
            ("create_tenant", "friend", "--json"),
            ("create_tenant", "stranger", "--json"),
            adding("scripted", self.upstream.base_url, MODEL),
        )
        self.friend, self.stranger = (self.client(json.loads(made)["key"]) for made in (friend, stranger))
        for process in self.processes:
            process.start()
        self.wait_ready()
        return self

    def stop(self) -> None:
        """End every process and remove the database."""
        for process in self.processes:
            if process.running:
                process.ask_to_stop()  # each takes its time: all of them the same
        for process in self.processes:
            process.stop()
        self.upstream.stop()
        drop_database(self._servers["DATABASE_URL"], self._name)
        _taken.discard(self._number)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.stop()

    def wait_ready(self, timeout: float = READY_SECONDS) -> None:
        """Wait for 200 from /readyz; the logs are part of the error when it does not come."""
        try:
            wait_until(self._is_ready, timeout=timeout, what="/readyz")
        except (TimeoutError, ChildProcessError) as exc:
            raise RuntimeError(f"the service did not become ready: {exc}\n{self.logs()}") from exc

    # ---- single parts

    def kill_worker(self) -> None:
        """SIGKILL, in the middle of whatever the worker does."""
        self.worker.kill()

    def start_worker(self) -> None:
        """Start the worker again. What is asked meanwhile waits in the queue for it."""
        self.worker.start()

    def another_worker(self, **variables: str) -> Process:
        """A worker with other settings, to be started and stopped by the test."""
        return Process(self._parts(variables).worker())

    def restart_web(self) -> None:
        """Stop the web process as an operator does, and start it on the same port."""
        self.web.stop()
        self.web.start()
        self.wait_ready()

    def revive(self) -> list[str]:
        """Start what is not running; returns the names of those that had ended by themselves."""
        crashed = [process.name for process in self.processes if process.crashed]
        ended = [process for process in self.processes if not process.running]
        for process in ended:
            process.start()
        if ended:
            self.wait_ready()
        return crashed

    @contextmanager
    def another_web(self, **settings: str) -> Iterator[str]:
        """One more web process with settings of its own; gives its base URL."""
        port = free_port()
        folder = self.folder / f"web-{port}"
        parts = Parts(Environment(root=ROOT, var=folder, given={**self.env, **settings}))
        parts.logs.mkdir(parents=True)
        web, root = Process(parts.web("127.0.0.1", port)), f"http://127.0.0.1:{port}"
        web.start()
        try:
            wait_until(lambda: _answers(Client(root)), timeout=READY_SECONDS, what=f"{root}/readyz")
            yield f"{root}/v1"
        finally:
            web.stop()

    # ---- what operators do

    def manage(self, *arguments: str) -> str:
        """Run `manage.py` against this service and return what it printed."""
        return self._run([sys.executable, "manage.py", *arguments])

    def manage_all(self, *commands: Sequence[str]) -> list[str]:
        """Run several commands in one process, which takes a quarter of the time, and return what each one printed."""
        told = self._run([sys.executable, "-m", "tests.support.commands"], json.dumps(commands))
        return [str(printed) for printed in json.loads(told)]

    def _run(self, command: list[str], given: str = "") -> str:
        done = subprocess.run(
            command, cwd=ROOT, env=self.env, input=given, capture_output=True, text=True, timeout=60
        )
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    @contextmanager
    def backend(
        self, name: str, base_url: str, *models: str, options: tuple[str, ...] = ()
    ) -> Iterator[None]:
        """A Chat Completions backend that serves `models`, each under the upstream's own name for it: while the block
        lasts, and not a moment longer, so that no test meets what another one has added.
        """
        self.manage_all(adding(name, base_url, *models, options=options))
        try:
            yield
        finally:
            with psycopg.connect(self.env["DATABASE_URL"]) as database:
                backends = "SELECT id FROM responses_api_backend WHERE name = %s"
                database.execute(f"DELETE FROM responses_api_route WHERE backend_id IN ({backends})", [name])
                database.execute("DELETE FROM responses_api_backend WHERE name = %s", [name])
            if self.web.running:
                # The list of the models is read anew, and is what the process goes by from then on.
                assert self.friend.get("/models").status == 200

    def client(self, key: str | None, model: str | None = MODEL) -> Client:
        """A raw client with this key."""
        return Client(self.base_url, key, model)

    # ---- logs

    def mark(self) -> dict[str, int]:
        """Where the logs end now; to be given to `logs`."""
        return {process.name: process.printed() for process in self.processes}

    def logs(self, since: dict[str, int] | None = None, last: int = 6000) -> str:
        """What the processes printed since the mark; the end of it when it is long."""
        sections = []
        for process in self.processes:
            state = "running" if process.running else "not running"
            text = process.output((since or {}).get(process.name, 0))[-last:]
            sections.append(f"--- {process.name} ({state}), {process.log}\n{text}")
        return "\n".join(sections)

    # ---- how it is put together

    def _environment(self) -> dict[str, str]:
        dropped = ("CELERY_BROKER_URL", "DJANGO_SETTINGS_MODULE")
        inherited = {key: value for key, value in os.environ.items() if key not in dropped}
        own = {
            "DATABASE_URL": fresh_database(self._servers["DATABASE_URL"], self._name),
            "VALKEY_URL": with_database(self._servers["VALKEY_URL"], self._number),
            "ANTIPHON_IGNORE_ENV_FILES": "1",
            "ANTIPHON_DRAIN_SECONDS": "2",
            "SECRET_KEY": "of a test service, at least fifty characters long, used nowhere else",
            "TEST_UPSTREAM_KEY": UPSTREAM_KEY,
            "ANTIPHON_CONFORMANCE_URL": self.base_url,
            "ANTIPHON_EGRESS_ALLOW": "127.0.0.1",
        }
        return {**inherited, **own, **self._settings}

    def _parts(self, variables: dict[str, str] | None = None) -> Parts:
        return Parts(Environment(root=ROOT, var=self.folder, given={**self.env, **(variables or {})}))

    def _is_ready(self) -> bool:
        for process in self.processes:
            if not process.running:
                raise ChildProcessError(f"{process.name} has ended")
        return _answers(self.root)


def take_database() -> int:
    """A Valkey database that no other service of this run has: two on one number would take each other's jobs."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    of_this_process = _DATABASES[worker :: int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))]
    number = next((number for number in of_this_process if number not in _taken), None)
    if number is None:
        raise RuntimeError(
            f"each of {of_this_process} is the database of a running service: stop one of them"
        )
    _taken.add(number)
    return number


def adding(
    name: str,
    base_url: str,
    *models: str,
    kind: str = "chat_completions",
    options: tuple[str, ...] = (),
) -> list[str]:
    """The command that adds a backend; it knows each of the models as UPSTREAM_MODEL."""
    named = [argument for model in models for argument in ("--model", f"{model}={UPSTREAM_MODEL}")]
    at = ("--kind", kind, "--base-url", base_url, "--api-key-env", "TEST_UPSTREAM_KEY")
    return ["add_backend", name, *at, *named, *options]


def _answers(root: Client) -> bool:
    try:
        return root.get("/readyz").status == 200
    except OSError:
        return False
