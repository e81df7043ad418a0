"""Antiphon as the target: one web process, one worker and beat as `make run` starts them, on data of its own.

ANTIPHON_BENCH_URL (its root, on loopback) and ANTIPHON_BENCH_KEY name a running instance instead. It must
have a backend for the bench's models that points at the stub, which then needs a fixed port (`--stub-port`).
"""

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from config.local.children import Child, Program, start
from config.local.environment import Environment
from config.local.parts import Parts
from config.local.places import ROOT, short_directory, unprivileged_user
from config.local.postgres import Postgres
from config.local.valkey import Valkey, free_port
from tests.bench.processes import FOLDER, BenchError, answers, wait_until
from tests.bench.targets import OTHER_KINDS, WORKLOADS, Target

DATA = FOLDER / "service"
READY_SECONDS = 60.0
PATH = "/v1/responses"
LIMITS = {
    "requests_per_minute": "100000000",
    "tokens_per_minute": "1000000000000",
    "concurrent_responses": "100000",
    "tokens_per_month": "1000000000000",
    "cost_per_day": "1000000",
}
"""Of the bench's tenant: never reached, and counted for every request."""
STORES = (True, False)
HOST = "127.0.0.1"


@contextmanager
def running_service(stub_port: int) -> Iterator[Target]:
    """The service, ready, while the block runs."""
    url, key = os.environ.get("ANTIPHON_BENCH_URL"), os.environ.get("ANTIPHON_BENCH_KEY")
    if url and key:
        yield external(url, key)
        return
    with ExitStack() as stack:
        yield start_service(stub_port, stack)


def external(url: str, key: str) -> Target:
    """A running instance; its processes are not known, so neither are its CPU time and memory."""
    found = urlsplit(url)
    if found.hostname not in ("127.0.0.1", "localhost") or found.port is None:
        raise BenchError(f"ANTIPHON_BENCH_URL must be an address of this machine with a port, not {url}.")
    return Target("antiphon", found.port, PATH, key, (), STORES)


def start_service(stub_port: int, stack: ExitStack) -> Target:
    """Start every part on empty data; the stack stops them, the last one first."""
    shutil.rmtree(DATA, ignore_errors=True)
    (DATA / "log").mkdir(parents=True)
    parts = Parts(environment(DATA))
    servers = start_servers(parts, stack)
    manage(parts, "migrate", "--verbosity=0")
    key = str(json.loads(manage(parts, "create_tenant", "bench", "--json"))["key"])
    manage(parts, "add_backend", "stub", *backend(stub_port))
    for kind in OTHER_KINDS:
        manage(parts, "add_backend", f"stub-{kind}", *other_backend(kind, stub_port))
    for metric, amount in LIMITS.items():
        manage(parts, "set_limit", "bench", "--metric", metric, "--amount", amount)
    port = free_port()
    programs = (parts.web(HOST, port), parts.worker(), parts.beat())
    children = [*servers, *(start_program(program, stack) for program in programs)]
    wait_until(lambda: answers(f"http://{HOST}:{port}/readyz"), children, READY_SECONDS)
    return Target("antiphon", port, PATH, key, tuple(each.process.pid for each in children), STORES)


def environment(data: Path) -> Environment:
    """The service's variables: nothing of the caller's that names other servers or opens the debug mode."""
    hidden = {
        "DATABASE_URL",
        "VALKEY_URL",
        "CELERY_BROKER_URL",
        "SECRET_KEY",
        "DEBUG",
        "DJANGO_SETTINGS_MODULE",
    }
    given = {name: value for name, value in os.environ.items() if name not in hidden}
    given["ANTIPHON_IGNORE_ENV_FILES"] = "1"
    return Environment(root=ROOT, var=data, given=given, embedded={"SECRET_KEY": secrets.token_urlsafe(48)})


def start_servers(parts: Parts, stack: ExitStack) -> list[Child]:
    """PostgreSQL and Valkey, with the settings that `make run` gives them."""
    data = DATA / "postgres"
    postgres = Postgres(data, short_directory(unprivileged_user(data), DATA), parts.logs / "postgres.log")
    server = start_program(postgres.prepare(), stack)
    postgres.wait(server)
    valkey = Valkey(DATA / "valkey", parts.logs / "valkey.log", free_port(), secrets.token_urlsafe(24))
    cache = start_program(valkey.prepare(), stack)
    valkey.wait(cache)
    urls = {"DATABASE_URL": postgres.url, "VALKEY_URL": valkey.url, "CELERY_BROKER_URL": valkey.url}
    parts.environment.embedded.update(urls)
    return [server, cache]


def backend(stub_port: int) -> list[str]:
    """The options of `add_backend` for the stub."""
    named = [argument for workload in WORKLOADS for argument in ("--model", workload.model)]
    return ["--kind", "chat_completions", "--base-url", f"http://{HOST}:{stub_port}/v1", *named]


def other_backend(kind: str, stub_port: int) -> list[str]:
    """The options of `add_backend` for the stub as a backend of this kind."""
    model = f"{WORKLOADS[0].model}-{kind}={WORKLOADS[0].model}"
    return ["--kind", kind, "--base-url", f"http://{HOST}:{stub_port}/v1", "--model", model]


def manage(parts: Parts, *arguments: str) -> str:
    """Run a management command; what it printed. BenchError when it fails."""
    program = parts.manage(*arguments, log="manage.log")
    done = subprocess.run(
        list(program.argv),
        cwd=program.cwd,
        env=dict(program.env),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"manage.py {arguments[0]} failed:\n{done.stderr}")
    return done.stdout


def start_program(program: Program, stack: ExitStack) -> Child:
    """Start one part; the stack stops it."""
    child = start(program)
    stack.callback(child.stop)
    return child
