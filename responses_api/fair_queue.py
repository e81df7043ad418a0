"""A bounded queue between threads in which every tenant has a line of its own, and the lines take turns."""

import threading
from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """What waits is taken one of each line, round and round. Where all together are too many, the longest gives way."""

    def __init__(self, most: int) -> None:
        """`most` is how many may wait, of all lines together."""
        self._most = most
        self._lines: OrderedDict[str, deque[T]] = OrderedDict()
        self._length = 0
        self._filled = threading.Condition()

    def put(self, line: str, waiting: T) -> T | None:
        """Let it wait at the end of its line. Returns what may not wait (any more): nothing, or, where the queue is
        full, the newest of the longest line, which may be the one that was given.
        """
        with self._filled:
            self._lines.setdefault(line, deque()).append(waiting)
            self._length += 1
            self._filled.notify()
            return self._push_out() if self._length > self._most else None

    def get(self, most: int) -> list[T]:
        """Take up to `most`, from each line in its turn; waits until there is one."""
        with self._filled:
            self._filled.wait_for(lambda: self._length)
            return [self._next() for _ in range(min(most, self._length))]

    def _next(self) -> T:
        line, waiting = self._lines.popitem(last=False)
        taken = waiting.popleft()
        if waiting:
            self._lines[line] = waiting
        self._length -= 1
        return taken

    def _push_out(self) -> T:
        # Of lines of one length the latest: who came first is not pushed out by who comes now.
        longest = max(reversed(self._lines), key=lambda line: len(self._lines[line]))
        self._length -= 1
        pushed = self._lines[longest].pop()
        if not self._lines[longest]:
            del self._lines[longest]
        return pushed
