"""The load generator: closed loops over keep-alive connections in one process.

`python -m tests.bench.load` reads one `LoadSpec` as JSON on stdin and writes one `LoadResult` on stdout. It
runs in a process of its own, so that what it costs is never counted to the target.
"""

import asyncio
import gc
import math
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field

import orjson

from tests.bench.connection import Answer, Expectation, LoadConnection
from tests.bench.procstat import usage

REQUEST_TIMEOUT = 30.0  # seconds from the request to its last byte
RETRY_PAUSE = 0.05  # seconds before a loop tries again after a failure


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """One cell: where to send what, how many at a time and for how long (seconds)."""

    port: int
    path: str
    key: str
    body: str
    stream: bool
    terminal: str
    min_events: int
    concurrency: int
    warm_up: float
    seconds: float
    pids: tuple[int, ...]

    def request(self) -> bytes:
        """The bytes of one request."""
        body = self.body.encode()
        accept = "text/event-stream" if self.stream else "application/json"
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Authorization: Bearer {self.key}\r\n"
            f"Content-Type: application/json\r\nAccept: {accept}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Milliseconds."""

    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What was measured between the warm-up and the deadline.

    `errors` also counts those of the warm-up and of the answers that were still running at the deadline.
    """

    answers: int
    events: int
    seconds: float
    first_event_ms: Percentiles
    total_ms: Percentiles
    cpu_ms: float
    rss_mb: float
    load_cpu_ms: float
    errors: dict[str, int]


def percentiles(samples: list[float]) -> Percentiles:
    """Nearest-rank percentiles; zeros when nothing was measured."""
    if not samples:
        return Percentiles(0.0, 0.0, 0.0)
    ordered = sorted(samples)
    p50, p95, p99 = (round(ordered[math.ceil(q * len(ordered)) - 1], 3) for q in (0.50, 0.95, 0.99))
    return Percentiles(p50, p95, p99)


@dataclass(slots=True)
class Tally:
    """What has been seen so far. Only answers that end while `counting` are samples."""

    counting: bool = False
    stopping: bool = False
    first: list[float] = field(default_factory=list)
    total: list[float] = field(default_factory=list)
    events: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, answer: Answer) -> None:
        """Count one answer."""
        if answer.error is not None:
            self.errors[answer.error] += 1
        elif self.counting:
            self.first.append(answer.first_ms)
            self.total.append(answer.total_ms)
            self.events += answer.events


async def loop_requests(spec: LoadSpec, tally: Tally) -> None:
    """One of the N loops: ask, wait for the whole answer, ask again; a broken connection is replaced."""
    loop = asyncio.get_running_loop()
    request, expectation = spec.request(), Expectation(spec.stream, spec.terminal.encode(), spec.min_events)
    connection: LoadConnection | None = None
    while not tally.stopping:
        if connection is None or connection.closed:
            try:
                _, connection = await loop.create_connection(
                    lambda: LoadConnection(expectation), "127.0.0.1", spec.port
                )
            except OSError as refused:
                tally.errors[f"connect: {refused.strerror}"] += 1
                await asyncio.sleep(RETRY_PAUSE)
                continue
        answer = await connection.ask(request, REQUEST_TIMEOUT)
        tally.add(answer)
        if answer.error is not None:
            connection.close()
            await asyncio.sleep(RETRY_PAUSE)
    if connection is not None:
        connection.close()


async def start_loops(spec: LoadSpec, tally: Tally) -> list[asyncio.Task[None]]:
    """Open the connections one after the other over the first half of the warm-up.

    All at once, whichever of a server's processes wakes first would take most of them and keep them.
    """
    loops = []
    for _ in range(spec.concurrency):
        loops.append(asyncio.create_task(loop_requests(spec, tally)))
        await asyncio.sleep(spec.warm_up / 2 / spec.concurrency)
    return loops


async def run(spec: LoadSpec) -> LoadResult:
    """Warm up, measure, then let what still runs end by itself: nothing leaks into the next cell."""
    tally = Tally()
    loops = await start_loops(spec, tally)
    await asyncio.sleep(spec.warm_up / 2)
    before, own_before, began = usage(spec.pids), process_ms(), time.perf_counter()
    tally.counting = True
    await asyncio.sleep(spec.seconds)
    tally.counting, tally.stopping = False, True
    after, own_after, ended = usage(spec.pids), process_ms(), time.perf_counter()
    await asyncio.gather(*loops)
    return LoadResult(
        answers=len(tally.total),
        events=tally.events,
        seconds=ended - began,
        first_event_ms=percentiles(tally.first),
        total_ms=percentiles(tally.total),
        cpu_ms=after.cpu_ms - before.cpu_ms,
        rss_mb=after.rss_mb,
        load_cpu_ms=own_after - own_before,
        errors=dict(tally.errors),
    )


def process_ms() -> float:
    """CPU milliseconds of this process, to tell when the generator itself is the limit."""
    return time.process_time() * 1000


def main() -> None:
    """Read a spec, run it, write the result."""
    plain = orjson.loads(sys.stdin.buffer.read())
    spec = LoadSpec(**{**plain, "pids": tuple(plain["pids"])})
    gc.freeze()
    gc.disable()
    sys.stdout.buffer.write(orjson.dumps(asdict(asyncio.run(run(spec)))))


if __name__ == "__main__":
    main()
