"""The proof of failover: a backend that fails in another way each time, two workers, hundreds of requests.

No client sees an error that the other backend could have served, none is answered twice, and the breaker that all
workers share opens, lets single requests try, and closes when the backend is well again.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import redis

from responses_api.conformance.stream import assert_stream
from responses_api.eventlog import names
from tests.support.chat import chat_error, chunk, frame, usage_of
from tests.support.checks import output_text
from tests.support.client import Answer, Client, Exchange, Json, wait_until
from tests.support.service import Service
from tests.support.upstream import ScriptedUpstream

MODEL: Final = "served-twice"
FAILING: Final = "failing"
REQUESTS, AT_ONCE = 500, 32
BREAKER_SECONDS: Final = 1.0
BREAKER_FAILURES: Final = 5
SEED: Final = 20261130
EMPTY: Final = frame(chunk({"role": "assistant", "content": ""}))
USAGE: Final = frame(chunk({}) | {"choices": [], "usage": usage_of((9, 0))})
WAYS_TO_FAIL: Final[list[Json]] = [
    {"end": "abort"},
    {"end": "mute"},
    {"end": "hang"},
    {"end": "cut"},
    {"body": EMPTY + USAGE, "end": "reset"},
    {"body": EMPTY + frame(chat_error("x"))},
    {"body": chat_error("x")},
    {"status": 429, "headers": {"retry-after": "1"}, "body": chat_error("x")},
    *({"status": status, "body": chat_error("x")} for status in (401, 404, 500, 502, 503, 504, 529)),
]
SETTINGS: Final = {
    "ANTIPHON_BREAKER_SECONDS": str(BREAKER_SECONDS),
    "ANTIPHON_BREAKER_FAILURES": str(BREAKER_FAILURES),
    "LOG_LEVEL": "WARNING",
}
Record = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class Field:
    """A service with two workers, and a model of two backends: the first one fails."""

    service: Service
    failing: ScriptedUpstream
    steady: ScriptedUpstream
    valkey: Any

    def breaker(self) -> Any:
        """What is kept of the failing backend's breaker."""
        return self.valkey.hgetall(names.breaker(FAILING))


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Field]:
    """All of it, begun."""
    with ExitStack() as stack:
        failing, steady = (stack.enter_context(ScriptedUpstream(actor=True)) for _ in range(2))
        service = Service("failover", tmp_path, SETTINGS)
        stack.enter_context(service)
        patience = ("--connect-timeout", "1", "--first-byte-timeout", "2")
        first, then = ("--position", "0", *patience), ("--position", "1")
        stack.enter_context(service.backend(FAILING, failing.base_url, MODEL, options=first))
        stack.enter_context(service.backend("steady", steady.base_url, MODEL, options=then))
        second = service.another_worker()
        second.start()
        stack.callback(second.stop)
        valkey = stack.enter_context(redis.Redis.from_url(service.env["VALKEY_URL"]))
        both = wait_until(
            lambda: (found := valkey.smembers(names.WORKERS)) and len(found) == 2 and found,
            timeout=20,
            what="two workers",
        )
        assert len(both) == 2
        yield Field(service, failing, steady, valkey)


def ask(client: Client, number: int) -> Exchange | Answer:
    """One request of the many, every other one as a stream."""
    asked: Json = {"model": MODEL, "input": f"n-{number}", "store": number % 3 == 0}
    if number % 2:
        return client.read_stream(**asked, timeout=60)
    return client.create(**asked, timeout=60)


def text_of(answered: Exchange | Answer) -> str:
    """What was answered."""
    assert answered.status == 200, answered
    if isinstance(answered, Answer):
        return output_text(answered.json())
    final = assert_stream(answered.raw).final
    assert final is not None
    return output_text(final)


def ask_all(field: Field, numbers: Sequence[int]) -> None:
    """Ask all of these, so many at a time: each is answered, and answered what it asked."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(threads.map(lambda number: ask(field.service.friend, number), numbers))
    said = [text_of(answered) for answered in answers]
    assert said == [f"You said: n-{number}" for number in numbers]


def asked_of(upstream: ScriptedUpstream) -> Counter[str]:
    """How often each request came to an upstream."""
    return Counter(request.body["messages"][-1]["content"] for request in upstream.requests())


def test_no_client_sees_a_failure_and_none_is_answered_twice(field: Field, record_property: Record) -> None:
    chance = random.Random(SEED)
    for _ in range(2 * REQUESTS):
        field.failing.reply(**chance.choice(WAYS_TO_FAIL))
    failing = range(REQUESTS - 100)
    began = time.monotonic()
    ask_all(field, failing)
    seconds = time.monotonic() - began

    assert b"until" in field.breaker()
    tried, answered = asked_of(field.failing), asked_of(field.steady)
    assert answered == Counter({f"n-{number}": 1 for number in failing})
    assert set(tried.values()) <= {1}
    # Those that were on their way when it opened; then one at a time, each of which may find out that it says nothing
    # about the whole backend (404) and let the next one try.
    assert sum(tried.values()) <= AT_ONCE + BREAKER_FAILURES + 4 * (seconds / BREAKER_SECONDS + 1)
    record_property("asked of the failing backend", f"{sum(tried.values())} of {len(failing)} requests")

    field.failing.clear()
    field.steady.clear()
    wait_until(lambda: _is_over(field), timeout=10, what="the end of the time for which the breaker is open")
    well = range(REQUESTS - 100, REQUESTS)
    ask_all(field, well)
    assert field.breaker() == {}
    together = asked_of(field.failing) + asked_of(field.steady)
    assert together == Counter({f"n-{number}": 1 for number in well})
    assert sum(asked_of(field.failing).values()) >= len(well) - AT_ONCE
    record_property("500 requests, 32 at a time", f"{time.monotonic() - began:.1f} s")


def _is_over(field: Field) -> bool:
    seconds, microseconds = field.valkey.time()
    until: bytes = field.breaker().get(b"until", b"0")
    return int(until) / 1000 < int(seconds) + int(microseconds) / 1_000_000
