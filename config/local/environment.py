"""What the parts of a local run are told: the user's own settings, and the addresses of the embedded parts.

`var/run.env` holds the latter, so that `manage.py` in another shell finds them (the settings read the
environment, then `.env`, then this file), and so that ports and secrets outlive a restart.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import environ

from config.local.errors import LocalError
from config.local.places import write_private

REPLACEABLE = ("DATABASE_URL", "VALKEY_URL", "CELERY_BROKER_URL")


@dataclass(slots=True)
class Environment:
    """The environment of a run in the project folder `root`, with its data in `var`."""

    root: Path
    var: Path
    given: Mapping[str, str]
    embedded: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, var: Path, environment: Mapping[str, str]) -> "Environment":
        """Read `.env` and the last run's file. A variable that is set but empty counts as not set."""
        given = {**_read_file(root / ".env"), **environment}
        found = cls(root=root, var=var, given={key: value for key, value in given.items() if value != ""})
        before = _read_file(found.run_file)
        # Nobody has said how mails leave: they can be read here, and who tries the service can sign up.
        found.embedded["ANTIPHON_SIGNUP"] = "open"
        found.embedded["EMAIL_URL"] = f"filemail://{quote(str(found.mail))}"
        found.embedded["SECRET_KEY"] = before.get("SECRET_KEY") or secrets.token_urlsafe(48)
        return found

    @property
    def run_file(self) -> Path:
        """The file that tells other shells."""
        return self.var / "run.env"

    @property
    def mail(self) -> Path:
        """The folder that mails are written to while there is no mail server."""
        return self.var / "mail"

    @property
    def demo_file(self) -> Path:
        """The file to be sourced by who wants to call the service."""
        return self.var / "demo.env"

    def replaces(self, name: str) -> bool:
        """Whether the user named a server of their own with this variable."""
        return name in self.given

    def last_port(self, name: str) -> int | None:
        """The port of an embedded part in the last run, from the URL that was written then."""
        return urlsplit(_read_file(self.run_file).get(name, "")).port

    def last_password(self, name: str) -> str | None:
        """The password of an embedded part in the last run."""
        return urlsplit(_read_file(self.run_file).get(name, "")).password

    def write(self) -> None:
        """Write the addresses of the embedded parts."""
        lines = [f"{key}={value}\n" for key, value in sorted(self.embedded.items())]
        write_private(self.run_file, "# Written by `make run` at every start.\n" + "".join(lines))

    def for_children(self) -> dict[str, str]:
        """The environment of web, worker, beat and `manage.py`: what the user set wins."""
        return {**self.embedded, **self.given, "PYTHONUNBUFFERED": "1"}

    def listen_address(self) -> tuple[str, int]:
        """Host and port of the web server, from HOST and PORT. Raises LocalError for a port that is none."""
        text = self.given.get("PORT", "8000")
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
            raise LocalError(f"PORT={text} is no port: give a number from 1 to 65535.")
        return self.given.get("HOST", "127.0.0.1"), int(text)


def _read_file(path: Path) -> dict[str, str]:
    """The variables in a file of NAME=value lines, as the settings read it; none when there is no file."""
    if not path.is_file():
        return {}
    if not os.access(path, os.R_OK):
        raise LocalError(f"{path} cannot be read: run as the user who owns it.")
    scratch: dict[str, str] = {}

    class FileOnly(environ.Env):  # type: ignore[misc]  # django-environ ships no types
        ENVIRON = scratch

    FileOnly.read_env(str(path))
    return scratch
