"""What an ASGI application sends to one client, read in another thread as it comes."""

import threading
from collections import deque
from typing import Any

from tests.support.client import Deadline, Json


class Outbox:
    """The messages of one call of the application, and how the call ended."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._messages: deque[Json] = deque()
        self._has_returned = False
        self._failure: BaseException | None = None

    # ---- the application's side

    async def send(self, message: Json) -> None:
        """Take one message."""
        with self._changed:
            self._messages.append(message)
            self._changed.notify_all()

    def returned(self, future: Any) -> None:
        """The application has returned, or failed."""
        with self._changed:
            self._has_returned = True
            self._failure = None if future.cancelled() else future.exception()
            self._changed.notify_all()

    # ---- the test's side

    def next(self, deadline: Deadline) -> Json | None:
        """The next message; None where the application has returned. Raises what it raised."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._messages or self._has_returned, deadline.left()):
                raise TimeoutError(f"nothing came within {deadline.seconds} s")
            if self._messages:
                return self._messages.popleft()
        if self._failure is not None:
            raise self._failure
        return None

    def wait_returned(self, timeout: float) -> None:
        """Wait until the application is done with this client. Raises what it raised."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_returned, timeout):
                raise TimeoutError(f"the application did not return within {timeout} s")
        if self._failure is not None:
            raise self._failure
