"""`/v1/usage` and `/v1/limits`: what the key's own tenant used, and where the limits that hold for the key stand."""

import re
import time
import uuid
from datetime import UTC, datetime
from typing import ClassVar, Final, cast, get_args

from rest_framework.request import Request
from rest_framework.response import Response

from responses_api.http.views import ApiView, caller_of, limit_of
from responses_api.protocol.errors import invalid_request
from responses_api.services.access import Scope
from responses_api.services.usage import GroupBy, Period, limits_now, usage_report

_DAY: Final = 86_400
_DEFAULT_DAYS: Final = 30
_MOST_BUCKETS: Final = 1000
_GROUP_BY: Final = re.compile(r"group_by(\[\d*\])?")
_KEY_ID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_KNOWN: Final = ("start", "end", "model", "key", "limit", "page")
_LATEST: Final = 4_102_444_800
"""2100-01-01: what is later was written in milliseconds."""


class Usage(ApiView):
    """`GET /v1/usage`."""

    scopes: ClassVar[dict[str, Scope]] = {"get": "usage:read"}

    def get(self, request: Request) -> Response:
        """What the tenant used."""
        return Response(usage_report(caller_of(request).tenant_id, _period(request)))


class Limits(ApiView):
    """`GET /v1/limits`."""

    scopes: ClassVar[dict[str, Scope]] = {"get": "usage:read"}

    def get(self, request: Request) -> Response:
        """Where limits stand."""
        return Response(limits_now(caller_of(request)))


def _period(request: Request) -> Period:
    query = request.query_params
    for name in query:
        if name not in _KNOWN and not _GROUP_BY.fullmatch(name):
            raise invalid_request(
                f"`{name}` is no parameter of this call; there are: group_by, {', '.join(_KNOWN)}.",
                param=name,
            )
    now = int(time.time())
    end = _moment(query["end"], "end") if "end" in query else now + 1
    start = (
        _moment(query["start"], "start")
        if "start" in query
        else (end - 1) // _DAY * _DAY - (_DEFAULT_DAYS - 1) * _DAY
    )
    return Period(
        start=max(0, start),
        end=end,
        group_by=_group_by(request),
        model=query.get("model") or None,
        key_id=_key(query.get("key")),
        page=query.get("page") or None,
        limit=limit_of(query.get("limit", "100"), _MOST_BUCKETS),
    )


def _moment(given: str, param: str) -> int:
    """Unix seconds, or the midnight (UTC) with which a date begins."""
    if given.isascii() and given.isdigit() and len(given) <= 10 and int(given) < _LATEST:
        return int(given)
    try:
        day = datetime.strptime(given, "%Y-%m-%d")
    except ValueError:
        day = datetime.max
    if not (1970 <= day.year < 2100):
        raise invalid_request(
            f"`{param}` must be a date such as 2026-11-30 (its beginning, UTC) or unix seconds, before the year 2100.",
            param=param,
        )
    return int(day.replace(tzinfo=UTC).timestamp())


def _group_by(request: Request) -> tuple[GroupBy, ...]:
    """What to group by; clients write a list with commas or by saying the parameter again."""
    given = [
        part.strip()
        for name, values in request.query_params.lists()
        if _GROUP_BY.fullmatch(name)
        for value in values
        for part in value.split(",")
    ] or ["day"]
    known = get_args(GroupBy)
    if not set(given) <= set(known):
        raise invalid_request(f"`group_by` must be of: {', '.join(known)}.", param="group_by")
    if {"day", "hour"} <= set(given):
        raise invalid_request("`group_by` takes one of day and hour.", param="group_by")
    return cast(tuple[GroupBy, ...], tuple(name for name in known if name in given))


def _key(given: str | None) -> uuid.UUID | None:
    if given is None:
        return None
    if not _KEY_ID.fullmatch(given):
        raise invalid_request("`key` must be the id of a key.", param="key")
    return uuid.UUID(given)
