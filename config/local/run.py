"""One run of everything: the order of the parts, and the first tenant."""

import errno
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from config.local import demo, outside
from config.local.environment import Environment
from config.local.errors import LocalError
from config.local.parts import Parts
from config.local.probe import status_of
from config.local.supervisor import Supervisor, say, step
from config.local.valkey import port_is_free

_READY_SECONDS = 60.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Run:
    """The parts of one run in the project's folder, each started with a line of its own."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.parts = Parts(environment)
        self.supervisor = Supervisor()
        self.host, self.port = environment.listen_address()
        self._runtime: Path | None = None

    @property
    def root_url(self) -> str:
        """The service as a client on this machine reaches it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def start(self) -> None:
        """Start every part and wait until the service is ready."""
        began = time.monotonic()
        check_address(self.host, self.port)
        self._put_old_logs_aside()
        self._start_postgres()
        self._start_valkey()
        self._find_broker()
        self._start_model()
        self._prepare_service()
        self._start_service()
        password = self._first_tenant()
        say(f"{'ready':<12} after {time.monotonic() - began:.1f} s")
        self._welcome(password)

    def stop(self) -> None:
        """Stop every part and remove what lies outside the project's folder."""
        self.supervisor.stop()
        if self._runtime is not None:
            shutil.rmtree(self._runtime, ignore_errors=True)

    def _put_old_logs_aside(self) -> None:
        """Begin every log anew, so that none grows for ever; those of the run before are kept as *.log.1."""
        for log in self.parts.logs.glob("*.log"):
            log.replace(log.with_name(f"{log.name}.1"))

    def _start_postgres(self) -> None:
        if self.environment.replaces("DATABASE_URL"):
            outside.check_database(self.environment.given["DATABASE_URL"])
            say(f"{'PostgreSQL':<12} yours (DATABASE_URL)")
            return
        with step("PostgreSQL"):
            server = self.parts.postgres()
            self._runtime = server.runtime
            server.wait(self.supervisor.start(server.prepare()))
            self.environment.embedded["DATABASE_URL"] = server.url

    def _start_valkey(self) -> None:
        if self.environment.replaces("VALKEY_URL"):
            outside.check_valkey(self.environment.given["VALKEY_URL"])
            say(f"{'Valkey':<12} yours (VALKEY_URL)")
            return
        with step("Valkey"):
            server = self.parts.valkey()
            server.wait(self.supervisor.start(server.prepare()))
            self.environment.embedded["VALKEY_URL"] = server.url

    def _find_broker(self) -> None:
        """The user's broker, or (the settings' default) Valkey."""
        if self.environment.replaces("CELERY_BROKER_URL"):
            outside.check_broker(self.environment.given["CELERY_BROKER_URL"])
            say(f"{'broker':<12} yours (CELERY_BROKER_URL)")
        elif "VALKEY_URL" in self.environment.embedded:
            self.environment.embedded["CELERY_BROKER_URL"] = self.environment.embedded["VALKEY_URL"]

    def _start_model(self) -> None:
        with step("model"):
            server = self.parts.model()
            server.wait(self.supervisor.start(server.prepare(), restarts=True))
            self.environment.embedded["LOCAL_MODEL_URL"] = server.url

    def _prepare_service(self) -> None:
        """Tell the other shells, migrate, and make the local model a backend."""
        embedded = self.environment.embedded
        if self.host not in _LOOPBACK:
            anywhere = self.host in ("0.0.0.0", "::")
            embedded["ALLOWED_HOSTS"] = "*" if anywhere else f"localhost,127.0.0.1,[::1],{self.host}"
        embedded["ANTIPHON_CONFORMANCE_URL"] = f"{self.root_url}/v1"
        self.environment.mail.mkdir(mode=0o700, exist_ok=True)  # the links in mails open accounts
        self.environment.write()
        with step("migrate"):
            self._manage("migrate", "--no-input")
            self.supervisor.run(self.parts.backend(embedded["LOCAL_MODEL_URL"]))

    def _start_service(self) -> None:
        start = self.supervisor.start
        with step("web"):
            start(self.parts.web(self.host, self.port), restarts=True)
            # They take seconds to import: all three at once.
            start(self.parts.worker(), restarts=True)
            start(self.parts.beat(), restarts=True)
            self._wait_for("/healthz", "The web server did not answer")
        with step("worker, beat"):
            # Only then: each /readyz that says no is an error in the log of the web server.
            beats = outside.WorkerBeats(self.environment.for_children()["VALKEY_URL"])
            self.supervisor.wait_until("No worker was ready", beats.any, _READY_SECONDS)
            self._wait_for("/readyz", f"{self.root_url}/readyz did not report that every part is there")

    def _wait_for(self, path: str, complaint: str) -> None:
        url = f"{self.root_url}{path}"
        self.supervisor.wait_until(complaint, lambda: status_of(url) == 200, _READY_SECONDS)

    def _first_tenant(self) -> str | None:
        """See to it that demo tenant, its key and an operator exist; returns the operator's password if new.

        The key in the file may be of another database, or revoked: then the file gets one that works.
        """
        file = self.environment.demo_file
        base_url = f"{self.root_url}/v1"
        key = demo.read_key(file)
        if key is not None and demo.is_valid(base_url, key):
            demo.Demo(base_url, key).write(file)  # PORT may have moved
            return None
        with step("demo tenant"):
            demo.Demo(base_url, self._demo_key()).write(file)
            return self._make_operator()

    def _demo_key(self) -> str:
        """A key of the demo tenant, which is made if need be; empty when the operator switched the tenant off."""
        try:
            return demo.key_of(self._manage("create_tenant", demo.TENANT, "--json", keep_log=False))
        except LocalError as error:
            if "exists already" not in str(error):
                raise
        try:
            arguments = ("create_key", demo.TENANT, "--name=make run", "--json")
            return demo.key_of(self._manage(*arguments, keep_log=False))
        except LocalError as error:
            if "is switched off" not in str(error):
                raise
        return ""

    def _make_operator(self) -> str | None:
        """Make the admin's first user; None when there is one already."""
        password = demo.new_password()
        try:
            self._manage("createsuperuser", "--no-input", extra=demo.operator_variables(password))
        except LocalError as error:
            if "already taken" in str(error):
                return None
            raise
        return password

    def _manage(self, *arguments: str, extra: Mapping[str, str] | None = None, keep_log: bool = True) -> str:
        """Run a management command; a log that holds a secret is not kept."""
        log = "manage.log" if keep_log else "secret.log"
        program = self.parts.manage(*arguments, log=log, variables=extra)
        try:
            return self.supervisor.run(program)
        finally:
            if not keep_log:
                program.log.unlink(missing_ok=True)

    def _welcome(self, password: str | None) -> None:
        shown = demo.Demo(f"{self.root_url}/v1", demo.read_key(self.environment.demo_file) or "")
        mails = "your mail server (EMAIL_URL)" if self.environment.replaces("EMAIL_URL") else "var/mail"
        say(demo.welcome(shown, self.root_url, password, mails))


def check_address(host: str, port: int) -> None:
    """Raise LocalError when the web server could not listen there."""
    try:
        if port_is_free(host, port):
            return
    except OSError as error:
        if error.errno == errno.EACCES:
            raise LocalError(f"PORT={port} may not be used by this user: choose one above 1023.") from None
        raise LocalError(
            f"HOST={host} is no address of this machine ({os.strerror(error.errno or 0)})."
        ) from None
    raise LocalError(f"Port {port} is in use: `make run PORT={port + 1}` takes another.")
