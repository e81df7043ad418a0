"""Servers that the user named instead of the embedded ones: they must answer before anything is started on them."""

from urllib.parse import urlsplit

import amqp.exceptions
import kombu
import kombu.exceptions
import psycopg
import redis

from config.local.errors import LocalError
from responses_api.eventlog import names

_SECONDS = 5


def check_database(url: str) -> None:
    """Raise LocalError when no PostgreSQL answers at a DATABASE_URL."""
    try:
        psycopg.connect(url, connect_timeout=_SECONDS).close()
    except psycopg.Error as error:
        raise LocalError(
            f"DATABASE_URL names a database that does not answer: {_first_line(error)}."
        ) from None


def check_valkey(url: str) -> None:
    """Raise LocalError when no Valkey or Redis answers at a VALKEY_URL."""
    try:
        with redis.Redis.from_url(url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        raise LocalError(f"VALKEY_URL names a server that does not answer: {_first_line(error)}.") from None


def check_broker(url: str) -> None:
    """Raise LocalError when no broker answers at a CELERY_BROKER_URL."""
    try:
        with kombu.Connection(url, connect_timeout=_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, timeout=_SECONDS)
    except amqp.exceptions.AMQPError as error:  # it answers, and says no: user, password, virtual host
        reason = str(error.reply_text or _first_line(error)).rstrip(".")
        raise LocalError(f"CELERY_BROKER_URL names a broker that refuses it: {reason}.") from None
    except (kombu.exceptions.OperationalError, KeyError, OSError) as error:
        scheme = urlsplit(url).scheme
        reason = f"{scheme} is no transport" if isinstance(error, KeyError) else _first_line(error)
        raise LocalError(f"CELERY_BROKER_URL names a broker that does not answer: {reason}.") from None


class WorkerBeats:
    """Asks a Valkey which workers live."""

    def __init__(self, url: str) -> None:
        self._url = url

    def any(self) -> bool:
        """Whether a worker is ready for jobs."""
        with redis.Redis.from_url(self._url, socket_timeout=_SECONDS, decode_responses=True) as client:
            return any(client.exists(names.beat(worker)) for worker in client.smembers(names.WORKERS))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
