"""The first tenant: made once by `make run`, kept in `var/demo.env`, shown with commands to be pasted."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from config.local.errors import LocalError
from config.local.model import NAME as MODEL
from config.local.places import write_private
from config.local.probe import status_of

TENANT = "demo"
OPERATOR = "admin"


@dataclass(frozen=True, slots=True)
class Demo:
    """How to call the service: written as `export` lines, to be sourced."""

    base_url: str
    key: str
    model: str = MODEL

    def write(self, path: Path) -> None:
        """Write the file; only its owner may read it, for it holds a key."""
        variables = {"OPENAI_BASE_URL": self.base_url, "OPENAI_API_KEY": self.key, "MODEL": self.model}
        write_private(path, "".join(f"export {name}={value}\n" for name, value in variables.items()))


def read_key(path: Path) -> str | None:
    """The key in a file that `Demo.write` wrote; None when there is none."""
    if not path.exists():
        return None
    prefix = "export OPENAI_API_KEY="
    keys = [line.removeprefix(prefix) for line in path.read_text().splitlines() if line.startswith(prefix)]
    return next(filter(None, keys), None)


def is_valid(base_url: str, key: str) -> bool:
    """Whether the running service still knows the key."""
    status = status_of(f"{base_url}/models", {"Authorization": f"Bearer {key}"}, seconds=10.0)
    if status in (200, 401, 403):
        return status == 200
    raise LocalError(
        f"The service does not say whether the demo key is valid (HTTP {status}): see var/log/web.log."
    )


def key_of(printed: str) -> str:
    """The key in what `manage.py create_tenant NAME --json` printed."""
    for line in printed.splitlines():  # there may be log lines around it
        if line.startswith("{") and isinstance(key := json.loads(line).get("key"), str):
            return key
    raise LocalError(f"`manage.py create_tenant` printed no key:\n{printed}")


def operator_variables(password: str) -> Mapping[str, str]:
    """The variables that `manage.py createsuperuser --noinput` reads."""
    return {
        "DJANGO_SUPERUSER_USERNAME": OPERATOR,
        "DJANGO_SUPERUSER_EMAIL": f"{OPERATOR}@localhost",
        "DJANGO_SUPERUSER_PASSWORD": password,
    }


def new_password() -> str:
    """A password for the operator, easy enough to copy."""
    return secrets.token_urlsafe(12)


def welcome(demo: Demo, root_url: str, password: str | None, mails: str) -> str:
    """What is printed when the service is ready."""
    login = f"  user {OPERATOR}, password {password} (shown once)" if password else ""
    call = f"""curl {demo.base_url}/responses \\
  -H "Authorization: Bearer {demo.key}" -H "Content-Type: application/json" \\
  -d '{{"model": "{demo.model}", "input": "Say hello."}}'"""
    stream = call.replace("curl ", "curl -N ", 1).replace('"Say hello."', '"Count to five.", "stream": true')
    return f"""
Antiphon is ready.

  base URL  {demo.base_url}
  key       {demo.key or f"none: the tenant {TENANT!r} is switched off"}
  model     {demo.model}
  site      {root_url}/   sign up there as a team does; mails go to {mails}
  admin     {root_url}/admin/{login}

Try it:

{call}

{stream}

The key is in var/demo.env (`. var/demo.env`), the logs are in var/log.
Ctrl-C stops everything; the data stays in var.
"""
