"""How each part of a local run is made: the embedded servers, `manage.py`, web, worker and beat."""

import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from config.local.children import Program
from config.local.environment import Environment
from config.local.model import Model
from config.local.places import short_directory, unprivileged_user
from config.local.postgres import Postgres
from config.local.valkey import Valkey, free_port

BACKLOG = 2048  # connections that wait to be accepted; the default of 50 drops some at 128 clients
_DRAIN = "3"  # seconds
_GRACE = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class Parts:
    """Builds the programs of a run."""

    environment: Environment

    @property
    def logs(self) -> Path:
        """The folder of the logs, one file a part."""
        return self.environment.var / "log"

    def postgres(self) -> Postgres:
        """The embedded PostgreSQL."""
        data = self.environment.var / "postgres"
        runtime = short_directory(unprivileged_user(data), self.environment.root)
        return Postgres(data=data, runtime=runtime, log=self.logs / "postgres.log")

    def valkey(self) -> Valkey:
        """The embedded Valkey, at the address of the last run where that is free."""
        return Valkey(
            data=self.environment.var / "valkey",
            log=self.logs / "valkey.log",
            port=free_port(self.environment.last_port("VALKEY_URL")),
            password=self.environment.last_password("VALKEY_URL") or secrets.token_urlsafe(24),
        )

    def model(self) -> Model:
        """The local model, at the address of the last run where that is free."""
        port = free_port(self.environment.last_port("LOCAL_MODEL_URL"))
        return Model(log=self.logs / "model.log", port=port, root=self.environment.root)

    def manage(self, *arguments: str, log: str, variables: Mapping[str, str] | None = None) -> Program:
        """A management command; what it prints goes to a log."""
        return self._python(f"manage.py {arguments[0]}", ["manage.py", *arguments], log, variables)

    def backend(self, base_url: str) -> Program:
        """The command that makes the local model at `base_url` a backend."""
        return self._python("config.local.backend", ["-m", "config.local.backend", base_url], "manage.log")

    def web(self, host: str, port: int) -> Program:
        """The web server, without daphne's access log."""
        interface = host.replace(":", r"\:")  # in Twisted's endpoint language a colon separates
        endpoint = f"tcp:port={port}:interface={interface}:backlog={BACKLOG}"
        return self._python(
            "web", ["-m", "config.web", "-v", "0", "-e", endpoint], "web.log", self._drain(), grace=_GRACE
        )

    def worker(self) -> Program:
        """The Celery worker; how it must be run is the Celery application's knowledge."""
        return self._python("worker", ["-m", "config.worker"], "worker.log", self._drain(), grace=_GRACE)

    def _drain(self) -> dict[str, str]:
        """Who presses Ctrl-C waits: what runs is ended soon, and well before its process would be killed."""
        return {"ANTIPHON_DRAIN_SECONDS": self.environment.given.get("ANTIPHON_DRAIN_SECONDS", _DRAIN)}

    def beat(self) -> Program:
        """The clock of periodic tasks; it logs no line for each of them."""
        schedule = str(self.environment.var / "celerybeat-schedule")
        arguments = ["-m", "celery", "-A", "config.celery", "beat", "--schedule", schedule, "--pidfile="]
        quiet = {"LOG_LEVEL": self.environment.given.get("LOG_LEVEL", "WARNING")}
        return self._python("beat", arguments, "beat.log", quiet)

    def _python(
        self,
        name: str,
        arguments: Sequence[str],
        log: str,
        variables: Mapping[str, str] | None = None,
        grace: float = 10.0,
    ) -> Program:
        return Program(
            name=name,
            argv=[sys.executable, *arguments],
            log=self.logs / log,
            env={**self.environment.for_children(), **(variables or {})},
            cwd=self.environment.root,
            grace=grace,
        )
