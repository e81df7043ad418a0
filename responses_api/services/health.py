"""Whether a response could be generated now: its parts, what waits in the queues, and which workers live."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from celery import current_app
from django.db import ProgrammingError, connection
from redis.exceptions import RedisError

from responses_api.dispatch import QUEUES, waiting_messages
from responses_api.eventlog.backends import BreakerState, breakers
from responses_api.eventlog.claims import Worker, is_anybody_there, workers
from responses_api.eventlog.connection import blocking_client
from responses_api.eventlog.turns import Waiting, waiting
from responses_api.models import Backend
from tenants.scoping import operator_scope


@dataclass(frozen=True, slots=True)
class QueueNow:
    """A queue: the jobs that wait in it, and the tickets for them that wait in the broker."""

    name: str
    jobs: Waiting
    tickets: int


@dataclass(frozen=True, slots=True)
class Service:
    """How the service is. Queues, workers and breakers (by the names of enabled backends) are None where Valkey or the
    broker did not answer.
    """

    parts: dict[str, str]
    queues: list[QueueNow] | None
    workers: list[Worker] | None
    breakers: dict[str, BreakerState] | None

    @property
    def is_ready(self) -> bool:
        """Whether a response could be generated now."""
        return all(state == "ok" for state in self.parts.values())


def parts() -> dict[str, str]:
    """Each part that is needed: `ok`, or what is wrong with it, without addresses."""
    return {name: _state(check) for name, check in _CHECKS.items()}


def service_now() -> Service:
    """The parts, the queues and the workers. Never raises: what does not answer is what it tells of."""
    states = parts()
    answers = {name for name, state in states.items() if not state.startswith("failed")}
    return Service(
        parts=states,
        queues=_queues() if {"valkey", "broker"} <= answers else None,
        workers=workers() if "valkey" in answers else None,
        breakers=_all_breakers() if {"valkey", "database"} <= answers else None,
    )


def breakers_now(backends: Sequence[str]) -> dict[str, BreakerState] | None:
    """The breakers of these backends; None where Valkey does not answer."""
    try:
        return breakers(backends)
    except (RedisError, OSError):
        return None


def _all_breakers() -> dict[str, BreakerState] | None:
    with operator_scope():  # the rows are nobody's; the scope bounds the time of the query
        names = list(Backend.objects.filter(is_enabled=True).order_by("name").values_list("name", flat=True))
    return breakers_now(names)


def _queues() -> list[QueueNow]:
    return [QueueNow(name, waiting(name), waiting_messages(name)) for name in QUEUES]


def _state(check: Callable[[], bool]) -> str:
    try:
        return "ok" if check() else "missing"
    except ProgrammingError:
        return "failed: tables are missing; run manage.py migrate"
    except Exception as error:  # any failure of a part is what is asked for
        return f"failed: {type(error).__name__}"


def _database() -> bool:
    with operator_scope(), connection.cursor() as cursor:  # the scope bounds the time of the query
        cursor.execute("SELECT 1 FROM responses_api_response LIMIT 0")
    return True


def _valkey() -> bool:
    return bool(blocking_client().ping())


def _broker() -> bool:
    with current_app.connection_for_write(connect_timeout=2) as broker:
        broker.ensure_connection(max_retries=1, timeout=3)
    return True


_CHECKS: Final[dict[str, Callable[[], bool]]] = {
    "database": _database,
    "valkey": _valkey,
    "broker": _broker,
    "worker": is_anybody_there,
}
