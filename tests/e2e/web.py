"""More web processes of the service, with settings of their own."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from config.local.environment import Environment
from config.local.parts import Parts
from config.local.places import ROOT
from config.local.valkey import free_port
from tests.support.client import Client, wait_until
from tests.support.processes import Process
from tests.support.service import Service

StartWeb = Callable[..., Process]
"""Called with daphne's arguments and with settings; the base URL is the process's name."""


def another_web(service: Service, folder: Path, *arguments: str, **settings: str) -> Process:
    """A web process that will listen, once it is started, at the base URL that is its name."""
    port = free_port()
    environment = Environment(root=ROOT, var=folder, given={**service.env, **settings})
    (folder / "log").mkdir(exist_ok=True)
    program = Parts(environment).web("127.0.0.1", port)
    name = f"http://127.0.0.1:{port}/v1"
    return Process(replace(program, name=name, argv=[*program.argv, *arguments]))


def wait_until_it_answers(web: Process) -> None:
    """Wait until the process serves."""
    root = Client(web.name.removesuffix("/v1"))
    wait_until(lambda: _answers(root), timeout=20, what="another web process")


def resident(process: Process) -> int:
    """The memory of a process, in bytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024


def _answers(root: Client) -> bool:
    try:
        return root.get("/healthz").status == 200
    except OSError:
        return False
