"""LiteLLM's proxy as the peer: its own venv, its own two workers, the same stub behind it.

It runs without its database (so it stores nothing) and with logging off. `use_chat_completions_api` makes its
`/v1/responses` bridge to the upstream's Chat Completions, which is what Antiphon does, too; the stub refuses
anything else.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.local.valkey import free_port
from tests.bench.processes import FOLDER, BenchError, answers, child, wait_until
from tests.bench.targets import WORKLOADS, Target

VERSION = "1.108.7"
WORKERS = 2
VENV = FOLDER / "litellm-venv"
MARK = VENV / f"installed-{VERSION}"
KEY = "sk-bench"
READY_SECONDS = 180.0
PROVIDER = "hosted_vllm"  # any OpenAI-compatible server


def install() -> Path:
    """Make the venv once; the path of the proxy's command."""
    if not MARK.exists():
        python = VENV / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "-q", f"litellm[proxy]=={VERSION}"], check=False
        )
        if done.returncode != 0:
            raise BenchError(f"LiteLLM {VERSION} could not be installed into {VENV}.")
        MARK.touch()
    return VENV / "bin" / "litellm"


def write_config(stub_port: int) -> Path:
    """The proxy's configuration: every workload's model, served by the stub."""
    models = "\n".join(
        f"  - model_name: {workload.model}\n"
        f"    litellm_params:\n"
        f"      model: {PROVIDER}/{workload.model}\n"
        f"      api_base: http://127.0.0.1:{stub_port}/v1\n"
        f"      api_key: none\n"
        f"      use_chat_completions_api: true"
        for workload in WORKLOADS
    )
    settings = f"litellm_settings:\n  set_verbose: false\ngeneral_settings:\n  master_key: {KEY}\n"
    path = FOLDER / "litellm.yaml"
    path.write_text(f"model_list:\n{models}\n{settings}")
    return path


@contextmanager
def running_peer(stub_port: int) -> Iterator[Target]:
    """The proxy, ready, while the block runs."""
    command, port = install(), free_port()
    config = write_config(stub_port)
    settings = [
        "--config",
        str(config),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--num_workers",
        str(WORKERS),
    ]
    quiet = {"LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION", "LITELLM_TELEMETRY": "False"}
    quiet["PATH"] = f"{VENV / 'bin'}:{os.environ['PATH']}"
    with child("litellm", [str(command), *settings], quiet) as proxy:
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/health/readiness"), [proxy], READY_SECONDS)
        yield Target("litellm", port, "/v1/responses", KEY, (proxy.process.pid,))
