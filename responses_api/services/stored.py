"""Stored responses: read, list, delete; always inside the caller's tenant scope.

A response that is unknown, deleted or another tenant's raises the same 404.
"""

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NoReturn

from django.db import transaction
from django.db.models import QuerySet

from responses_api.eventlog import bus, journal
from responses_api.eventlog.message import Kind, Message
from responses_api.models import IdempotentRequest, Item, Response
from responses_api.models.fields import is_id
from responses_api.models.response import UNFINISHED
from responses_api.protocol.errors import ProtocolError, invalid_request, not_found, told_error
from responses_api.protocol.event_types import ERROR
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot
from responses_api.protocol.score import perform
from responses_api.recent import recent_contexts
from responses_api.services.endings import answer, refusal
from responses_api.services.running import find_running, running_snapshot
from tenants.scoping import tenant_scope

Order = Literal["asc", "desc"]


@dataclass(frozen=True, slots=True)
class Page:
    """A window of a keyset-paged list: up to `limit` entries after the entry with the id `after`."""

    limit: int = 20
    order: Order = "desc"
    after: str | None = None


def retrieve(tenant_id: uuid.UUID, response_id: str, include: Collection[str] = ()) -> Json:
    """The response as it is now. Raises `ProtocolError` 404.

    `include` asks for more than the request that made it did; what that one asked for is always shown.
    """
    return _wherever_it_is(tenant_id, response_id, partial(_stored, response_id, include), running_snapshot)


def stream_of(tenant_id: uuid.UUID, response_id: str) -> Iterator[bytes] | None:
    """The frames of every event of a response that has ended, its stream told again; None where there is none.

    Each is made when it is asked for, which needs no database: all of them are many times what is stored.
    """
    with tenant_scope(tenant_id):
        row = _ended(response_id).first()
        if row is None:
            return None
        return perform(snapshots([row])[0], row.score)


def stored_end(
    tenant_id: uuid.UUID, response_id: str, stream: bool, told: int, last: bytes
) -> Message | None:
    """What is left to tell of a response that has ended: the rest of its stream, or its answer in JSON."""
    if stream:
        return rest_of_stream(tenant_id, response_id, told, last)
    return answer_of(tenant_id, response_id)


def answer_of(tenant_id: uuid.UUID, response_id: str) -> Message | None:
    """What a request for JSON was answered that this ended response was made for; None where there is none (yet)."""
    with tenant_scope(tenant_id):
        row = _ended(response_id).first()
        if row is None:
            return None
        if row.status != "failed":
            return answer(snapshots([row])[0])
    return refusal(_told_error(row))


def _told_error(row: Response) -> ProtocolError:
    """The error that a failed response was told with."""
    events = [event for event in (row.score or {}).get("kept", ()) if event.get("type") == ERROR]
    payload = events[-1]["error"] if events else {"type": "server_error", "param": None, **row.error}
    return told_error(payload)


def rest_of_stream(tenant_id: uuid.UUID, response_id: str, told: int, last: bytes) -> Message | None:
    """What a stream that was told up to the event number `told` has not told of a response that has ended.

    `last` are the frames that were told last: None where they are not of the stream that was stored.
    """
    stream = stream_of(tenant_id, response_id)
    if stream is None:
        return None
    frames = list(stream)
    if not b"".join(frames[:told]).endswith(last):
        return None
    return Message(Kind.END, told, len(frames), b"".join(frames[told:]))


def _ended(response_id: str) -> "QuerySet[Response]":
    return Response.objects.filter(id=response_id).exclude(status__in=UNFINISHED)


def delete(tenant_id: uuid.UUID, response_id: str) -> Json:
    """Delete the response and its items for good. Raises `ProtocolError` 404, or 409 while it runs."""
    return _wherever_it_is(tenant_id, response_id, partial(_delete, response_id), _refuse_to_delete)


def _delete(response_id: str) -> Json | None:
    row = _ended(response_id)
    for tenant_id, root_id in row.values_list("tenant_id", "root_id"):
        if root_id is not None:  # else nobody keeps a copy
            recent_contexts.forget((str(tenant_id), root_id))
            # Not before it is gone: a copy that is made meanwhile would stay.
            transaction.on_commit(partial(bus.announce_deletion, str(tenant_id), root_id))
        transaction.on_commit(partial(journal.drop, response_id))
    deleted, _ = row.delete()
    if deleted:
        IdempotentRequest.objects.filter(response_id=response_id).update(is_gone=True)
    if not deleted and Response.objects.filter(id=response_id).exists():
        raise _still_running(response_id)
    return {"id": response_id, "object": "response", "deleted": True} if deleted else None


def _refuse_to_delete(job: Job) -> NoReturn:
    raise _still_running(job.response_id)


def _still_running(response_id: str) -> ProtocolError:
    return invalid_request(
        f"The response '{response_id}' has not ended; it can be deleted once it has. "
        "A background response can be cancelled.",
        code="response_in_progress",
        status=409,
    )


def list_responses(tenant_id: uuid.UUID, page: Page) -> Json:
    """The tenant's stored responses, newest first unless asked otherwise."""
    with tenant_scope(tenant_id):
        rows, has_more = _window(Response.objects.defer("score"), page, key="id", after=page.after)
        return _list(snapshots(rows), has_more)


def input_items(tenant_id: uuid.UUID, response_id: str, page: Page) -> Json:
    """The response's own new input items (not those of the chain before it). Raises `ProtocolError` 404."""
    return _wherever_it_is(
        tenant_id,
        response_id,
        partial(_stored_input_items, response_id, page),
        partial(_running_input_items, page),
    )


def _stored_input_items(response_id: str, page: Page) -> Json | None:
    if not Response.objects.filter(id=response_id).exists():
        return None
    items = Item.objects.filter(response_id=response_id, is_output=False)
    after = None
    if page.after is not None:
        after = items.filter(id=page.after).values_list("position", flat=True).first()
        if after is None:
            raise _no_such_anchor(page.after)
    rows, has_more = _window(items, page, key="position", after=after)
    return _list([row.data for row in rows], has_more)


def _wherever_it_is(
    tenant_id: uuid.UUID,
    response_id: str,
    in_rows: Callable[[], Json | None],
    in_job: Callable[[Job], Json],
) -> Json:
    """What is asked of a response: of its row, or while there is none of its job. Raises `ProtocolError` 404.

    It may end between the two looks; its row is there before its job is gone, so another look at the rows finds it.
    """
    if not is_id(response_id):
        raise missing(response_id)

    def look() -> Json | None:
        with tenant_scope(tenant_id):
            return in_rows()

    found = look()
    if found is None:
        job = find_running(tenant_id, response_id)
        found = in_job(job) if job is not None else look()
    if found is None:
        raise missing(response_id)
    return found


def snapshots(rows: Sequence[Response], include: Collection[str] = ()) -> list[Json]:
    """The API's view of stored rows, with one query for all of their items; `include` as in `retrieve`."""
    outputs: dict[str, list[Json]] = {row.id: [] for row in rows}
    items = Item.objects.filter(response_id__in=list(outputs), is_output=True).order_by(
        "response_id", "position"
    )
    for response_id, data in items.values_list("response_id", "data"):
        outputs[response_id].append(data)
    return [_snapshot(row, outputs[row.id], include) for row in rows]


def missing(response_id: str) -> ProtocolError:
    """The one answer for a response that is not there for this caller."""
    return not_found(f"Response with id '{response_id}' not found.")


def _stored(response_id: str, include: Collection[str]) -> Json | None:
    row = Response.objects.filter(id=response_id).defer("score").first()
    return snapshots([row], include)[0] if row is not None else None


def _snapshot(row: Response, output: list[Json], include: Collection[str]) -> Json:
    request = CreateRequest.from_plain(row.request)
    return snapshot(
        response_id=row.id,
        created_at=row.created_at,
        request=replace(request, include=[*request.include, *include]),
        # One that waits for its second worker has begun.
        status="in_progress" if row.status == "queued" and row.attempt else row.status,
        output=output,
        usage=row.usage,
        error=row.error,
        incomplete_details=row.incomplete_details,
        completed_at=row.completed_at,
        extensions=row.extensions,
    )


def _window(rows: "QuerySet[Any]", page: Page, *, key: str, after: Any) -> tuple[list[Any], bool]:
    """One page by keyset: the rows beyond `after`, and whether more follow."""
    if after is not None:
        rows = rows.filter(**{f"{key}__{'lt' if page.order == 'desc' else 'gt'}": after})
    found = list(rows.order_by(f"-{key}" if page.order == "desc" else key)[: page.limit + 1])
    return found[: page.limit], len(found) > page.limit


def _running_input_items(page: Page, job: Job) -> Json:
    items = job.input_items if page.order == "asc" else job.input_items[::-1]
    if page.after is not None:
        places = [place for place, item in enumerate(items) if item["id"] == page.after]
        if not places:
            raise _no_such_anchor(page.after)
        items = items[places[0] + 1 :]
    return _list(items[: page.limit], len(items) > page.limit)


def _no_such_anchor(item_id: str) -> ProtocolError:
    return invalid_request(f"`after` names no item of this response: '{item_id}'.", param="after")


def _list(data: list[Json], has_more: bool) -> Json:
    return {
        "object": "list",
        "data": data,
        "first_id": data[0]["id"] if data else None,
        "last_id": data[-1]["id"] if data else None,
        "has_more": has_more,
    }
