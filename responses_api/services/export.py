"""Export: stored responses as JSON, all that is stored of each; a file of many of them is read as it is sent."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from responses_api.models import Item, Response
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import encode
from responses_api.services.browse import Question, TooSlow, browse
from responses_api.services.database import in_database
from tenants.models import UsageRecord
from tenants.scoping import EVERYONE, current_scope, operator_scope, tenant_scope

MOST: Final = 10_000
"""Responses in one file."""

_PAGE: Final = 100
_COLUMNS: Final = (
    "id",
    "previous_id",
    "status",
    "model",
    "backend",
    "created_at",
    "completed_at",
    "attempt",
    "usage",
    "error",
    "incomplete_details",
    "extensions",
    "policy_decisions",
    "tried",
    "request",
)
_LEDGER: Final = tuple(
    field.attname
    for field in UsageRecord._meta.concrete_fields
    if field.attname not in ("response_id", "tenant_id", "key_id")
)


def download(name: str) -> dict[str, str]:
    """The headers of a file to be kept: no browser shows it as a page, no cache holds it."""
    return {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }


def export_of(rows: Sequence[Any]) -> list[bytes]:
    """Each row as one line of JSON: its columns, its items, its line of the ledger. Two queries, inside a scope."""
    ids = [row.id for row in rows]
    items: dict[str, list[Any]] = {response_id: [] for response_id in ids}
    for item in Item.objects.filter(response_id__in=ids).order_by("response_id", "position"):
        items[item.response_id].append(item)
    ledger = {line["response_id"]: line for line in UsageRecord.objects.filter(response_id__in=ids).values()}
    return [encode(_plain(row, items[row.id], ledger.get(row.id))) for row in rows]


def pages_of(question: Question) -> AsyncIterator[bytes]:
    """The lines of what is asked for, newest first, `MOST` at most: the scope is the caller's, opened anew for each
    page, so that no transaction stays open for as long as somebody downloads.

    The last line is an object with `truncated` where there is more than was looked at.
    """
    return _pages(question, current_scope())


async def _pages(question: Question, scope: str | None) -> AsyncIterator[bytes]:
    given = 0
    while True:
        lines, question_left, stopped = await in_database(_page, question, scope, min(_PAGE, MOST - given))
        given += len(lines)
        if lines:
            yield b"\n".join(lines) + b"\n"
        if question_left is None:
            return
        if stopped or given >= MOST:
            yield encode({"truncated": True, "before": question_left.before}) + b"\n"
            return
        question = question_left


def _page(question: Question, scope: str | None, limit: int) -> tuple[list[bytes], Question | None, bool]:
    """Some lines, the question for those that follow if there may be any, and whether to stop all the same."""
    with _scope(scope):
        try:
            found = browse(question, limit)
        except TooSlow:
            return [], question, True
        rows = {row.id: row for row in Response.objects.filter(id__in=found.ids).defer("score")}
        lines = export_of([rows[response_id] for response_id in found.ids if response_id in rows])
    if not found.has_older:
        return lines, None, False
    anchor = found.ended_at or found.ids[-1]
    return lines, replace(question, before=anchor, after=""), False


def _scope(scope: str | None) -> AbstractContextManager[None]:
    if scope is None:
        raise RuntimeError("An export begins inside a scope.")
    return operator_scope() if scope == EVERYONE else tenant_scope(UUID(scope))


def _plain(row: Any, items: Sequence[Any], line: Json | None) -> Json:
    return {
        **{name: getattr(row, name) for name in _COLUMNS},
        "tenant_id": str(row.tenant_id),
        "key_id": str(row.key_id),
        "input": [item.data for item in items if not item.is_output],
        "output": [item.data for item in items if item.is_output],
        "ledger": None if line is None else {name: line[name] for name in _LEDGER},
    }
