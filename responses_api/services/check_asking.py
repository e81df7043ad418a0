"""A look at the routes is asked for here, by a person or by the clock, and done by a worker."""

from collections.abc import Callable
from typing import Any, Final

import structlog
from celery import current_app
from django.conf import settings
from redis.exceptions import RedisError

from responses_api.dispatch import BACKGROUND_QUEUE, destination
from responses_api.eventlog.alone import Taken
from responses_api.protocol.errors import ProtocolError, invalid_request, overloaded
from responses_api.services.route_checks import Check, check_due, check_places, is_under_way, places
from tenants import audit

log = structlog.get_logger(__name__)

CHECK_ROUTES: Final = "antiphon.check_routes"
_EXPIRES_SECONDS: Final = 600


def ask_for_check(user: Any) -> None:
    """Have a worker check every route now. Needs the operator's scope.

    Raises `ProtocolError`: 400 where nobody has said where the service is, 409 while a look is under way, 503 where
    the queue does not take it.
    """
    if not settings.CONFORMANCE_URL:
        raise invalid_request("Set ANTIPHON_CONFORMANCE_URL: the workers ask the service at that address.")
    try:
        if is_under_way():
            raise _under_way()
        current_app.send_task(
            CHECK_ROUTES,
            args=["asked"],
            **destination(BACKGROUND_QUEUE),
            expires=_EXPIRES_SECONDS,
            ignore_result=True,
            retry=True,
            retry_policy={"max_retries": 2, "interval_start": 0.1, "interval_step": 0.2},
        )
    except ProtocolError:
        raise
    except Exception as error:  # whatever stopped the broker's client: who asked is told
        log.error("a look at the routes could not be queued", error=type(error).__name__)
        raise overloaded("The queue does not answer, so nothing was begun; try again.") from error
    audit.record("conformance.asked", "all routes", tenant_id=None, user=user)


def check_routes(occasion: str, should_stop: Callable[[], bool]) -> None:
    """Check every route, or on schedule those that are due; for a worker. One that is too many does nothing."""
    check = Check(base_url=settings.CONFORMANCE_URL, occasion=occasion, should_stop=should_stop)
    if not check.base_url:
        log.error("routes cannot be checked: ANTIPHON_CONFORMANCE_URL is not set")
        return
    try:
        found = check_due(check) if occasion == "schedule" else check_places(places(), check)
    except Taken:
        log.info("another look at the routes is under way")
        return
    except (RedisError, OSError) as error:
        log.error("Valkey does not answer", error=type(error).__name__)
        return
    for one in found:
        failed = [judged.scenario.id for judged in one.judged if judged.end == "failed"]
        log.info("a route was checked", place=str(one.place), failed=failed, problem=one.problem or None)


def _under_way() -> ProtocolError:
    return invalid_request("A look at the routes is under way; wait for its end.", status=409)
