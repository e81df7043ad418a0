"""Everything that the page of one response shows, gathered in a fixed number of queries."""

from dataclasses import dataclass
from typing import Any, Final

from responses_api.admin.accounts import Account, account_of
from responses_api.admin.blocks import Block
from responses_api.admin.conversation import block
from responses_api.admin.decisions import Decision, decisions_of
from responses_api.admin.shown import cut, pretty
from responses_api.models import Item
from responses_api.protocol.plain import Json
from responses_api.services.family import Family, family_of
from tenants.admin.base import show_time
from tenants.models import ApiKey, UsageRecord

_RAW_COLUMNS: Final = (
    "id",
    "previous_id",
    "status",
    "model",
    "backend",
    "created_at",
    "completed_at",
    "usage",
    "error",
    "incomplete_details",
    "extensions",
    "policy_decisions",
    "tried",
    "request",
)

# Shown on their own, or told by the row.
_TOLD_ELSEWHERE: Final = frozenset(
    {"model", "input", "previous_response_id", "instructions", "tools", "metadata"}
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what there is to say of it; `is_code` where it is JSON of several lines."""

    name: str
    text: str
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model could call."""

    name: str
    description: str
    definition: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One response, ready for its template."""

    row: Any
    key: Any
    created: str | None
    ended: str | None
    instructions: str
    input_blocks: list[Block]
    output_blocks: list[Block]
    settings: list[Fact]
    tools: list[Tool]
    metadata: list[Fact]
    usage: list[Fact]
    error: list[Fact]
    family: Family
    work: list[Fact]
    ledger: Account | None
    decisions: list[Decision]
    playground: str
    raw: str


def read(row: Any, *, playground: str = "") -> Reading:
    """Gather the page of `row`, inside a scope that sees it; `playground` is where it can be continued."""
    items = list(Item.objects.filter(response_id=row.id).order_by("position"))
    line = UsageRecord.objects.filter(response_id=row.id).first()
    request: Json = row.request
    return Reading(
        row=row,
        key=ApiKey.objects.filter(id=row.key_id).first(),
        created=show_time(row.created_at),
        ended=show_time(row.completed_at),
        instructions=cut(request.get("instructions") or ""),
        input_blocks=[block(item.data) for item in items if not item.is_output],
        output_blocks=[block(item.data) for item in items if item.is_output],
        settings=_settings({**request, **(row.extensions or {})}),
        tools=[_tool(tool) for tool in request.get("tools") or []],
        metadata=[_fact(name, value) for name, value in (request.get("metadata") or {}).items()],
        usage=_usage(row.usage),
        error=_facts({**(row.error or {}), **(row.incomplete_details or {})}),
        family=family_of(row),
        work=_work(row, line),
        ledger=None if line is None else account_of(line),
        decisions=decisions_of(row.policy_decisions),
        playground=playground,
        raw=_raw(row, items),
    )


def _work(row: Any, line: Any) -> list[Fact]:
    """Who worked on it, how often, and how long."""
    facts: list[tuple[str, Any]] = [
        (f"passed over: {entry['backend']}", _why_passed_over(entry)) for entry in row.tried or ()
    ]
    facts.append(("backend", row.backend or "none"))
    if row.request.get("background"):
        facts.append(("in the background", "followed" if row.is_followed else "nobody followed its stream"))
        facts.append(("workers that had it before", row.attempt))
    if line is not None:
        facts.append(("workers that took it up", line.attempts))
        if line.first_event_ms is not None:
            facts.append(("first event after", f"{line.first_event_ms:,} ms"))
        if line.duration_ms is not None:
            facts.append(("whole duration", f"{line.duration_ms:,} ms"))
    elif row.completed_at is not None:
        facts.append(("seconds until its end", row.completed_at - row.created_at))
    return [_fact(name, value) for name, value in facts]


def _why_passed_over(entry: Json) -> str:
    """Why a target gave no answer: see `workers/failover.py`."""
    status = "" if entry["status"] is None else f" (status {entry['status']})"
    return f"{entry['model']}: {entry['reason']}{status} after {entry['ms']:,} ms"


def _settings(request: Json) -> list[Fact]:
    """What was set, the long ones last."""
    facts = [
        _fact(name, value)
        for name, value in request.items()
        if name not in _TOLD_ELSEWHERE and value not in (None, [], {})
    ]
    return sorted(facts, key=lambda fact: fact.is_code)


def _raw(row: Any, items: list[Any]) -> str:
    """The row as it is stored, with its items: it can be shown whatever version of the service wrote it."""
    columns = {name: getattr(row, name) for name in _RAW_COLUMNS}
    told = {
        "input": [item.data for item in items if not item.is_output],
        "output": [item.data for item in items if item.is_output],
    }
    return pretty({**columns, "tenant_id": str(row.tenant_id), "key_id": str(row.key_id), **told})


def _facts(values: Json) -> list[Fact]:
    return [_fact(name, value) for name, value in values.items() if value is not None]


def _fact(name: str, value: Any) -> Fact:
    if isinstance(value, dict | list):
        return Fact(name, pretty(value), is_code=True)
    if isinstance(value, bool):
        return Fact(name, "yes" if value else "no")
    return Fact(name, cut(str(value)))


def _tool(tool: Json) -> Tool:
    """A tool by its name, a server by its label: a request may have several of one type."""
    return Tool(
        name=str(tool.get("name") or tool.get("server_label") or tool.get("type")),
        description=cut(str(tool.get("description") or tool.get("server_url") or "")),
        definition=pretty(tool),
    )


def _usage(usage: Json | None) -> list[Fact]:
    if not usage:
        return []
    flat = {
        "input tokens": usage.get("input_tokens"),
        "of them cached": (usage.get("input_tokens_details") or {}).get("cached_tokens"),
        "output tokens": usage.get("output_tokens"),
        "of them reasoning": (usage.get("output_tokens_details") or {}).get("reasoning_tokens"),
        "total": usage.get("total_tokens"),
    }
    return _facts(flat)
