"""How long a read of an answer may take."""

import asyncio

import aiohttp


class Watch:
    """Interrupts a read that takes too long, with one timer an answer: a timeout around each read costs a tenth.

    The timer is not moved with the deadline: when it fires early it is only set again.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, content: aiohttp.StreamReader) -> None:
        self._loop = loop
        self._content = content
        self._by: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def expect(self, by: float) -> None:
        """A read begins that must end by this time of the loop's clock."""
        self._by = by
        if self._timer is None or by < self._timer.when():
            self._set(by)

    def relax(self) -> None:
        """The read has ended."""
        self._by = None

    def stop(self) -> None:
        """The answer has ended."""
        self._by = None
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, by: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(by, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if self._by is None:
            return
        if self._loop.time() < self._by:
            self._set(self._by)
        else:
            self._content.set_exception(TimeoutError("the backend is silent"))
