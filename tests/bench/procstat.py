"""CPU time and memory of process trees, read from /proc (Linux)."""

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1_048_576


@dataclass(frozen=True, slots=True)
class Usage:
    """What process trees have used: CPU in milliseconds since their start, resident memory in MB now."""

    cpu_ms: float
    rss_mb: float


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on (index 0), or None when the process has ended."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2 :].split()  # a command's name may itself hold blanks and brackets


def _tree(roots: tuple[int, ...], stats: dict[int, list[str]]) -> set[int]:
    """The roots and all their descendants that are alive."""
    children: dict[int, list[int]] = {}
    for pid, fields in stats.items():
        children.setdefault(int(fields[1]), []).append(pid)
    found: set[int] = set()
    pending = [pid for pid in roots if pid in stats]
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending.extend(children.get(pid, ()))
    return found


def alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and was not waited for does not)."""
    fields = _stat(pid)
    return fields is not None and fields[0] != "Z"


def usage(roots: tuple[int, ...]) -> Usage:
    """CPU (user and system) and memory of the trees below `roots`.

    A child that has ended is counted too: its time is part of its parent's "waited-for children" time.
    """
    stats = {
        int(p.name): fields for p in PROC.iterdir() if p.name.isdigit() and (fields := _stat(int(p.name)))
    }
    running = [stats[pid] for pid in _tree(roots, stats)]
    ticks = sum(int(value) for fields in running for value in fields[11:15])
    return Usage(ticks * TICK_MS, sum(int(fields[21]) for fields in running) * PAGE_MB)
