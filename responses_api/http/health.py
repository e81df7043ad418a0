"""`/healthz`: the process lives. `/readyz`: the parts it needs answer, and which one does not."""

from collections.abc import Callable

from celery import current_app
from django.db import ProgrammingError, connection
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from responses_api.eventlog.claims import is_anybody_there
from responses_api.eventlog.connection import blocking_client
from tenants.scoping import operator_scope


class _Probe(APIView):
    """Probes have no key."""

    authentication_classes = ()
    permission_classes = ()


class Healthz(_Probe):
    """`GET /healthz`."""

    def get(self, request: Request) -> Response:
        """The web process answers."""
        return Response({"status": "ok"})


class Readyz(_Probe):
    """`GET /readyz`."""

    def get(self, request: Request) -> Response:
        """200 when a response could be generated now, else 503; `parts` says what is missing, without addresses."""
        parts = {name: _state(check) for name, check in _CHECKS.items()}
        is_ready = all(state == "ok" for state in parts.values())
        body = {"status": "ready" if is_ready else "not ready", "parts": parts}
        return Response(body, status=200 if is_ready else 503)


def _state(check: Callable[[], bool]) -> str:
    try:
        return "ok" if check() else "missing"
    except ProgrammingError:
        return "failed: tables are missing; run manage.py migrate"
    except Exception as error:  # any failure of a part is this page's very subject
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


_CHECKS: dict[str, Callable[[], bool]] = {
    "database": _database,
    "valkey": _valkey,
    "broker": _broker,
    "worker": is_anybody_there,
}
