"""`python -m tests.bench`: every cell of every target, interleaved, in one run on one machine.

The cells of one workload and concurrency follow each other, target by target, so that a machine that slows
down in the middle of the run slows all of them. PEER=litellm adds LiteLLM's proxy and the bars.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace

import orjson

from config.local.errors import LocalError
from config.local.places import ROOT
from config.local.valkey import free_port
from tests.bench.load import LoadResult, LoadSpec, Percentiles
from tests.bench.peer import running_peer
from tests.bench.processes import BenchError, answers, child, only_bench, wait_until
from tests.bench.procstat import alive
from tests.bench.report import COLUMNS, Row, bars, build_row, line, write_json
from tests.bench.service import running_service
from tests.bench.targets import MAIN_KIND, OTHER_KINDS, WORKLOADS, Target, Workload

CONCURRENCY = (1, 32, 128)
KINDS_AT = 32
WARM_UP = 2.0  # seconds
RESULT = ROOT / "var" / "bench.json"


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    workloads: tuple[Workload, ...]
    concurrency: tuple[int, ...]
    seconds: float
    targets: tuple[str, ...]
    stub_port: int


def parse(arguments: Sequence[str]) -> Options:
    """Read the command line; PEER of the environment adds a target."""
    peer = os.environ.get("PEER", "")
    standard = ["stub", "antiphon", *([peer] if peer else [])]
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="stream0 and json at 1 and 32, 2 s each")
    parser.add_argument("--only", action="append", choices=[w.name for w in WORKLOADS], help="a workload")
    parser.add_argument("--concurrency", action="append", type=int, help="how many at a time")
    parser.add_argument("--seconds", type=float, help="measured time of each cell")
    parser.add_argument("--target", action="append", choices=["stub", "antiphon", "litellm"], help="a target")
    parser.add_argument("--stub-port", type=int, help="where the stub listens, for ANTIPHON_BENCH_URL")
    chosen = parser.parse_args(arguments)
    names = chosen.only or (["stream0", "json"] if chosen.quick else [w.name for w in WORKLOADS])
    return Options(
        workloads=tuple(w for w in WORKLOADS if w.name in names),
        concurrency=tuple(chosen.concurrency or ((1, 32) if chosen.quick else CONCURRENCY)),
        seconds=chosen.seconds or (2.0 if chosen.quick else 5.0),
        targets=tuple(chosen.target or standard),
        stub_port=chosen.stub_port or free_port(),
    )


@contextmanager
def running_stub(port: int) -> Iterator[Target]:
    """The stub upstream, which is a target itself: the ceiling of all others."""
    with child("stub", [sys.executable, "-m", "tests.bench.stub", "--port", str(port)]) as stub:
        wait_until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), [stub], 10)
        yield Target("stub", port, "/v1/chat/completions", "none", (stub.process.pid,))


def start_targets(stack: ExitStack, stub: Target, names: tuple[str, ...]) -> Iterator[Target]:
    """Start what was asked for, in the order in which the table shows it."""
    starters = {"antiphon": running_service, "litellm": running_peer}
    for name in names:
        sys.stdout.write(f"starting {name}\n")
        sys.stdout.flush()
        yield stub if name == "stub" else stack.enter_context(starters[name](stub.port))


def measure(spec: LoadSpec) -> LoadResult:
    """Run one cell in a load process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.load"],
        cwd=ROOT,
        input=orjson.dumps(asdict(spec)),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"The load generator failed:\n{done.stderr.decode(errors='replace')}")
    plain = orjson.loads(done.stdout)
    spread = {name: Percentiles(**plain[name]) for name in ("first_event_ms", "total_ms")}
    return LoadResult(**{**plain, **spread})


def cell(target: Target, workload: Workload, concurrency: int, store: bool | None, seconds: float) -> Row:
    """Measure one cell."""
    spec = LoadSpec(
        port=target.port,
        path=target.path,
        key=target.key,
        body=target.body(workload, store),
        stream=workload.stream,
        terminal=target.terminal,
        min_events=workload.min_events,
        concurrency=concurrency,
        warm_up=WARM_UP,
        seconds=seconds,
        pids=target.pids,
    )
    name = target.name if target.kind == MAIN_KIND else target.kind
    return build_row(name, workload.name, concurrency, store, measure(spec))


def run_cells(targets: Sequence[Target], options: Options) -> Iterator[Row]:
    """All cells, the targets side by side."""
    for workload in options.workloads:
        for concurrency in options.concurrency:
            for target in (*targets, *with_other_kinds(targets, workload, concurrency)):
                for store in target.stores:
                    yield cell(target, workload, concurrency, store, options.seconds)
                    if not all(alive(pid) for pid in target.pids):
                        raise BenchError(f"A process of {target.name} has ended: see the logs in var/bench.")


def with_other_kinds(targets: Sequence[Target], workload: Workload, concurrency: int) -> Iterator[Target]:
    """Antiphon again, with backends of the other kinds behind it."""
    if workload is not WORKLOADS[0] or concurrency != KINDS_AT:
        return
    for target in targets:
        if target.name == "antiphon":
            for kind in OTHER_KINDS:
                yield replace(target, kind=kind, stores=(True,))


def run(options: Options) -> bool:
    """Start, measure, print, write; whether every bar that could be checked holds."""
    with ExitStack() as stack:
        stack.enter_context(only_bench())
        stub = stack.enter_context(running_stub(options.stub_port))
        targets = list(start_targets(stack, stub, options.targets))
        sys.stdout.write(COLUMNS + "\n")
        rows = []
        for row in run_cells(targets, options):
            rows.append(row)
            sys.stdout.write(line(row) + "\n")
            sys.stdout.flush()
    write_json(rows, RESULT)
    checked = bars(rows)
    for bar in checked:
        sys.stdout.write(f"{'PASS' if bar.passed else 'FAIL'}  {bar.ratio:.2f}x  {bar.text}\n")
    return all(bar.passed for bar in checked)


def main() -> int:
    """0 when the run went through and no bar failed."""
    try:
        return 0 if run(parse(sys.argv[1:])) else 1
    except (BenchError, LocalError) as failure:
        sys.stderr.write(f"{failure}\n")
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
