"""The first page of the admin: what was used, where limits stand, and for the operator how the service is."""

import time
import uuid
from dataclasses import dataclass, replace
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from responses_api.admin import figures
from responses_api.admin.figures import Row
from responses_api.services.health import service_now
from tenants.admin.base import is_operator, membership_of, show_time
from tenants.admin.limits import limit_words, use_bar
from tenants.models import ApiKey, Limit, Tenant
from tenants.standing import standings
from tenants.usage import Group, Question, Usage, read_usage

_DAY: Final = 86_400
PERIODS: Final = {"today": 1, "7": 7, "30": 30, "90": 90}
_DEFAULT: Final = "7"
_MOST_ROWS: Final = 50
_MOST_LIMITS: Final = 100
_MOST_TENANTS: Final = 200


@dataclass(frozen=True, slots=True)
class LimitRow:
    """A limit with its bar."""

    words: str
    bar: str
    resets_at: str | None


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What the page shows besides what every page does: the theme calls this."""
    chosen = request.GET.get("period", _DEFAULT)
    period = chosen if chosen in PERIODS else _DEFAULT
    tenant = _tenant(request)
    context |= {"title": "Dashboard", "period": period, "periods": _periods(tenant, period)}
    context |= _usage(request, tenant, PERIODS[period])
    context["limits"] = _limits(request, tenant)
    if is_operator(request):
        context |= {"tenant": tenant, "tenants": _tenants(tenant), "service": service_now()}
    return context


def _tenant(request: HttpRequest) -> Tenant | None:
    """The tenant that is shown: a member's own, the one that the operator chose, or None for all."""
    membership = membership_of(request)
    if membership is not None:
        return membership.tenant
    try:
        found: Tenant | None = Tenant.objects.filter(id=uuid.UUID(request.GET.get("tenant", ""))).first()
    except ValueError:
        return None
    return found


def _tenants(chosen: Tenant | None) -> list[Tenant]:
    """What the operator chooses from: the first ones by name, and the one that is chosen."""
    first = list(Tenant.objects.order_by("name")[:_MOST_TENANTS])
    return first if chosen is None or chosen in first else [chosen, *first]


def _periods(tenant: Tenant | None, period: str) -> list[dict[str, Any]]:
    more = {"tenant": str(tenant.id)} if tenant is not None else {}
    return [
        {
            "name": "Today" if name == "today" else f"{name} days",
            "link": f"?{urlencode({'period': name, **more})}",
            "is_chosen": name == period,
        }
        for name in PERIODS
    ]


def _usage(request: HttpRequest, tenant: Tenant | None, days: int) -> dict[str, Any]:
    end = int(time.time()) // _DAY * _DAY + _DAY
    question = Question(
        span="day",
        start=end - days * _DAY,
        end=end,
        tenant_id=tenant.id if tenant is not None else None,
        by=("starts_at",),
        with_durations=True,
    )
    by_day = figures.every_day(read_usage(question), question.start, end)
    used = [usage for usage in by_day if usage.requests]
    tables = [("Models", "model", _rows(_busiest(question, "model"), _model_name))]
    if tenant is not None:
        tables.append(("Keys", "key", _key_rows(_busiest(question, "key_id"))))
    else:
        tables.append(("Tenants", "tenant", _tenant_rows(_busiest(question, "tenant_id"))))
    return {
        "tiles": figures.tiles(figures.added(used), settings.CURRENCY),
        "charts": figures.charts(by_day, settings.CURRENCY) if used else [],
        "tables": tables,
        "columns": figures.COLUMNS,
        "day_rows": [
            figures.row(figures.day_name(usage.starts_at or 0), usage, settings.CURRENCY)
            for usage in reversed(used)
        ],
    }


def _busiest(question: Question, by: Group) -> list[Usage]:
    """What each group used, those with the most requests first."""
    return sorted(read_usage(replace(question, by=(by,))), key=lambda usage: -usage.requests)


def _rows(busiest: list[Usage], name: Any, link: Any = lambda usage: "") -> list[Row]:
    """The first groups, the rest together."""
    shown, rest = busiest[:_MOST_ROWS], busiest[_MOST_ROWS:]
    largest = shown[0].requests if shown else 0
    rows = [
        figures.row(name(usage), usage, settings.CURRENCY, largest=largest, link=link(usage))
        for usage in shown
    ]
    if rest:
        rows.append(figures.row(f"{len(rest):,} others", figures.added(rest), settings.CURRENCY))
    return rows


def _model_name(usage: Usage) -> str:
    return usage.model or ""


def _key_rows(busiest: list[Usage]) -> list[Row]:
    """The keys by their names; of one that is gone its id is left."""
    shown = [usage.key_id for usage in busiest[:_MOST_ROWS]]
    names = {key.id: str(key) for key in ApiKey.objects.filter(id__in=shown)}
    return _rows(busiest, lambda usage: names.get(usage.key_id, f"deleted: {usage.key_id}"))


def _tenant_rows(busiest: list[Usage]) -> list[Row]:
    shown = [usage.tenant_id for usage in busiest[:_MOST_ROWS]]
    names = dict(Tenant.objects.filter(id__in=shown).values_list("id", "name"))

    def link(usage: Usage) -> str:
        return f"{reverse('admin:index')}?{urlencode({'tenant': str(usage.tenant_id)})}"

    return _rows(busiest, lambda usage: names.get(usage.tenant_id, f"deleted: {usage.tenant_id}"), link)


def _limits(request: HttpRequest, tenant: Tenant | None) -> list[LimitRow] | None:
    """The limits of the tenant that is shown; of all of them at once nobody could read anything."""
    if tenant is None:
        return None
    rows = Limit.objects.filter(tenant_id=tenant.id).select_related("key").order_by("metric", "key", "model")
    limits = list(rows[:_MOST_LIMITS])
    found = standings(tenant.id, limits, int(time.time()))
    return [
        LimitRow(
            limit_words(limit),
            use_bar(limit.metric, limit.amount, found[limit.id]),
            show_time(found[limit.id].resets_at),
        )
        for limit in limits
    ]
