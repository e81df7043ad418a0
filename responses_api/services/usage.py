"""What a tenant used and where its limits stand, for whoever asks with one of its keys."""

import base64
import binascii
import json
import time
import uuid
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.conf import settings

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from tenants.keys import Principal
from tenants.limits import LimitSpec
from tenants.metrics import money_text
from tenants.rollup import SPAN_SECONDS
from tenants.scoping import tenant_scope
from tenants.standing import Standing, standings
from tenants.usage import Group, Question, Span, Usage, read_usage

GroupBy = Literal["day", "hour", "model", "key"]

_COLUMNS: Final[dict[GroupBy, Group]] = {
    "day": "starts_at",
    "hour": "starts_at",
    "model": "model",
    "key": "key_id",
}
_LONGEST_DAYS: Final[dict[Span, int]] = {"day": 400, "hour": 31}


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What is asked for: from `start` up to and without `end`, in unix seconds, rounded outwards to whole spans."""

    start: int
    end: int
    group_by: tuple[GroupBy, ...]
    model: str | None = None
    key_id: uuid.UUID | None = None
    page: str | None = None
    limit: int = 100

    @property
    def span(self) -> Span:
        """What is added up at the least."""
        return "hour" if "hour" in self.group_by else "day"


def usage_report(tenant_id: uuid.UUID, period: Period) -> Json:
    """A page of what the tenant used. Raises `ProtocolError` 400 where the period or the page makes no sense."""
    question = _question(period)
    with tenant_scope(tenant_id):
        found = read_usage(question)
    buckets, has_more = found[: period.limit], len(found) > period.limit
    return {
        "object": "usage",
        "start": question.start,
        "end": question.end,
        "group_by": list(period.group_by),
        "currency": settings.CURRENCY,
        "data": [_bucket(question, usage) for usage in buckets if usage.requests],
        "has_more": has_more,
        "next_page": _mark(question, buckets[-1]) if has_more else None,
    }


def _question(period: Period) -> Question:
    seconds = SPAN_SECONDS[period.span]
    start = period.start - period.start % seconds
    end = -(-period.end // seconds) * seconds
    if end <= start:
        raise invalid_request("`end` must be later than `start`.", param="end")
    longest = _LONGEST_DAYS[period.span]
    if end - start > longest * 86_400:
        raise invalid_request(
            f"The period may have {longest} days at most when it is told by the {period.span}.", param="start"
        )
    by = tuple(dict.fromkeys(_COLUMNS[name] for name in period.group_by))
    after = _read_mark(period.page, by) if period.page is not None else None
    return Question(
        span=period.span,
        start=start,
        end=end,
        by=by,
        model=period.model,
        key_id=period.key_id,
        after=after,
        limit=period.limit + 1,
    )


def _bucket(question: Question, usage: Usage) -> Json:
    seconds = SPAN_SECONDS[question.span]
    start = question.start if usage.starts_at is None else usage.starts_at
    return {
        "object": "usage.bucket",
        "start": start,
        "end": question.end if usage.starts_at is None else start + seconds,
        "model": usage.model,
        "key": str(usage.key_id) if usage.key_id is not None else None,
        "requests": usage.requests,
        "errors": usage.failed,
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cost": money_text(usage.cost_nanos),
        "cost_nanos": usage.cost_nanos,
    }


def _mark(question: Question, last: Usage) -> str:
    """The place of a group in the list, as clients send it back."""
    place = [getattr(last, name) for name in question.by]
    plain = json.dumps([str(value) if isinstance(value, uuid.UUID) else value for value in place])
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def _read_mark(text: str, by: tuple[Group, ...]) -> tuple[Any, ...]:
    try:
        place = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        values = tuple(_READERS[name](value) for name, value in zip(by, place, strict=True))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise _no_page() from None
    if not values:
        raise _no_page()
    return values


def _read_time(value: Any) -> int:
    if type(value) is not int or abs(value) >= 2**62:
        raise ValueError
    return value


def _read_model(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError
    value.encode()  # lone surrogates are no text for PostgreSQL
    return value


def _read_key(value: Any) -> uuid.UUID:
    return uuid.UUID(_read_model(value))


_READERS: Final[dict[Group, Any]] = {
    "starts_at": _read_time,
    "model": _read_model,
    "key_id": _read_key,
}


def _no_page() -> ProtocolError:
    return invalid_request("`page` must be the `next_page` of an answer to the same question.", param="page")


def limits_now(principal: Principal) -> Json:
    """Every limit that holds for the key, and where it stands."""
    limits = principal.limits
    found = standings(principal.tenant_id, limits, int(time.time()))
    return {
        "object": "list",
        "currency": settings.CURRENCY,
        "data": [_limit(limit, found[limit.id]) for limit in limits],
    }


def _limit(limit: LimitSpec, standing: Standing) -> Json:
    return {
        "object": "limit",
        "id": str(limit.id),
        "scope": "tenant" if limit.key_id is None else "key",
        "model": limit.model or None,
        "metric": limit.metric,
        "kind": "hard" if limit.is_hard else "soft",
        "set_by": limit.set_by,
        "amount": limit.amount,
        "used": standing.used,
        "reserved": standing.reserved,
        "remaining": max(0, limit.amount - standing.used - standing.reserved),
        "resets_at": standing.resets_at,
    }
