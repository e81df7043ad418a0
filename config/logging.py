"""Structured logs: one JSON object a line (or readable lines with LOG_FORMAT=console), ids and figures, never content.

Every record carries what is bound to the context: `request_id`, `response_id`, `tenant_id`.
"""

import logging
import logging.config
import sys
from collections.abc import Mapping
from typing import Any, Final

import orjson
import psycopg
import structlog
from django.db import DataError, IntegrityError
from django.http import HttpRequest
from structlog.typing import EventDict, Processor

from tenants.site.pages import told_path

LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
FORMATS: Final = ("json", "console")

_TELLING_CONTENT: Final = ("mcp", "client", "httpx2", "httpcore2")
"""Libraries that log whole addresses, headers, and what servers said: `workers.tools` tells what failed by itself."""

_QUOTING: Final = (DataError, IntegrityError, psycopg.DataError, psycopg.IntegrityError)


def configure(options: Mapping[str, Any]) -> None:
    """Set up structlog and the standard library's loggers alike.

    `options` holds `level` (a logging level's name) and `format` (`json` or `console`).
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *rendering(options["format"]),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(options["level"] if options["level"] in LEVELS else "INFO")
    for noisy in ("daphne", "celery.worker.strategy", "celery.app.trace", "asyncio"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))
    for told_elsewhere in _TELLING_CONTENT:
        logging.getLogger(told_elsewhere).setLevel(logging.CRITICAL + 1)
    # Every request has its line from `RequestIdMiddleware`; what is left to tell here is why one failed.
    logging.getLogger("django.request").setLevel(max(logging.ERROR, root.level))


def rendering(style: str) -> list[Processor]:
    """What makes a line of an event, in one of `FORMATS`."""
    return [_without_request, _without_values, *_as_text(style)]


def _without_request(_: Any, __: str, event: EventDict) -> EventDict:
    """Django hands its loggers the request and its path, in which a link's token may stand: the path is told without.

    With the request would go its repr, query included.
    """
    request = event.get("request")
    if isinstance(request, HttpRequest):
        del event["request"]
        event["method"], event["path"] = request.method, told_path(request.path)
        event["event"] = str(event.get("event")).replace(request.path, event["path"])
    return event


def _without_values(_: Any, __: str, event: EventDict) -> EventDict:
    """PostgreSQL quotes the values that it could not take, which are content: of such errors only the kind is told."""
    told = event.get("exc_info")
    error = sys.exception() if told is True else told[1] if isinstance(told, tuple) else told
    while isinstance(error, BaseException):
        if isinstance(error, _QUOTING):
            error.args = ("what PostgreSQL says of it may quote content and is left out",)
        error = error.__cause__ or error.__context__
    return event


def _as_text(style: str) -> list[Processor]:
    if style == "console":
        return [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    # Local variables stay out of tracebacks: they would carry prompts and keys into the log.
    tracebacks = structlog.processors.ExceptionRenderer(
        structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    )
    return [tracebacks, structlog.processors.JSONRenderer(serializer=_dumps)]


def _dumps(event: Any, **_: Any) -> str:
    return orjson.dumps(event, default=repr).decode()
