"""The contexts that this process read last: the next turn of a chain reads from the database only what is new.

What is here is a copy of rows and counts for nothing by itself: the database says with each turn whether anything of
the chain was deleted since (`Response.deletions`), and then the copy is thrown away. It is bounded in bytes and in
time; a context is dropped when it was not used for ten minutes.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

_SECONDS: Final = 600.0
_MOST_BRANCHES: Final = 4

Chain = tuple[str, str]
"""A tenant, and the first response of the chain."""


@dataclass(frozen=True, slots=True)
class Context:
    """The items of a chain up to a response, as JSON: for each of its responses, oldest first, `{…},{…}`.

    `deletions` is how many responses the database had counted as deleted before these were read.
    """

    deletions: int
    pieces: dict[str, bytes]

    @property
    def last(self) -> str:
        """The response whose context this is."""
        return next(reversed(self.pieces))

    @property
    def size(self) -> int:
        """Bytes of JSON."""
        return sum(map(len, self.pieces.values()))

    def until(self, response_id: str) -> dict[str, bytes]:
        """The pieces up to this response of the chain, its own included."""
        taken: dict[str, bytes] = {}
        for name, piece in self.pieces.items():
            taken[name] = piece
            if name == response_id:
                break
        return taken


class RecentContexts:
    """A few contexts of each chain (it may fork), the most recently used last. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Chain, dict[str, Context]] = OrderedDict()
        self._used_at: dict[Chain, float] = {}
        self.bytes = 0

    def of(self, chain: Chain, deletions: int) -> Sequence[Context]:
        """The contexts of this chain, the newest first, if nothing of it was deleted since."""
        with self._lock:
            branches = self._kept.get(chain)
            if branches is None:
                return ()
            if any(context.deletions != deletions for context in branches.values()):
                self._drop(chain)
                return ()
            self._kept.move_to_end(chain)
            self._used_at[chain] = time.monotonic()
            return tuple(reversed(branches.values()))

    def keep(self, chain: Chain, context: Context) -> None:
        """Keep a context that was just read; it takes the place of those that it goes on from."""
        if context.size > settings.CONTEXT_CACHE_BYTES:
            return
        with self._lock:
            branches = self._kept.setdefault(chain, {})
            self._kept.move_to_end(chain)
            self._used_at[chain] = time.monotonic()
            superseded = [last for last in branches if last in context.pieces]
            others = [last for last in branches if last not in context.pieces]
            for last in superseded + others[: max(0, len(others) + 1 - _MOST_BRANCHES)]:
                self.bytes -= branches.pop(last).size
            branches[context.last] = context
            self.bytes += context.size
            while self.bytes > settings.CONTEXT_CACHE_BYTES:
                self._drop(next(iter(self._kept)))

    def forget(self, chain: Chain) -> None:
        """Something of this chain was deleted."""
        with self._lock:
            self._drop(chain)

    def forget_unused(self) -> None:
        """Drop what nobody has asked for in ten minutes."""
        with self._lock:
            since = time.monotonic() - _SECONDS
            for chain in [chain for chain in self._kept if self._used_at[chain] < since]:
                self._drop(chain)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            for chain in list(self._kept):
                self._drop(chain)

    def _drop(self, chain: Chain) -> None:
        self.bytes -= sum(context.size for context in self._kept.pop(chain, {}).values())
        self._used_at.pop(chain, None)


recent_contexts: Final = RecentContexts()
"""Those of this process."""
