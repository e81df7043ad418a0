"""Create: the one funnel that JSON, SSE and WebSocket requests go through."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final
from uuid import UUID

import structlog
from redis.exceptions import RedisError

from responses_api.dispatch import process_dispatcher
from responses_api.eventlog import turns
from responses_api.eventlog.follow import Follower, process_inbox
from responses_api.eventlog.message import Message
from responses_api.protocol.errors import ProtocolError, invalid_request, overloaded
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.job import Job, Purpose
from responses_api.protocol.permission import refuse_forbidden, refuse_impossible, refuse_options
from responses_api.protocol.plain import Json
from responses_api.protocol.policy_reading import policies_of
from responses_api.protocol.reading import MANY_ITEMS
from responses_api.protocol.request import CreateRequest
from responses_api.services.admission import admitted
from responses_api.services.background import accept
from responses_api.services.context import context_of
from responses_api.services.database import in_database
from responses_api.services.endings import answer
from responses_api.services.finish import charge_unrun
from responses_api.services.following import follow_journal, follow_running
from responses_api.services.keeping import as_kept
from responses_api.services.listening import Ear, Listener, Recover, Said
from responses_api.services.named_files import check_named_files
from responses_api.services.offload import off_loop_if
from responses_api.services.pinning import pinned
from responses_api.services.prepared import Asked, Prepared
from responses_api.services.routing import find_model
from responses_api.services.running import running_snapshot
from responses_api.services.stored import stored_end
from responses_api.services.targets import able, with_served_tools
from responses_api.services.tools import check_tools_said, with_checked_tools
from tenants.keys import Principal

log = structlog.get_logger(__name__)

_NOT_HANDED_OVER: Final = overloaded("The service cannot take requests at the moment; try again.")


@dataclass(frozen=True, slots=True)
class Started:
    """A response on its way: listen to it, and close the listener whatever happens."""

    response_id: str
    listener: Ear
    headers: Mapping[str, str]
    """What the client is told of its limits."""


async def create(
    *,
    principal: Principal,
    request: CreateRequest,
    dialect: Dialect,
    request_id: str,
    purpose: Purpose = "respond",
    backend: str | None = None,
) -> Started:
    """Check everything that can be checked beforehand, then hand the job to a worker.

    `backend` names the one that is to be asked. Raises `ProtocolError`; then nothing was stored, queued or charged.
    """
    prepared = await prepare(
        principal=principal,
        request=request,
        dialect=dialect,
        request_id=request_id,
        purpose=purpose,
        backend=backend,
    )
    return await start_background(prepared) if request.background else await start(prepared)


async def prepare(
    *,
    principal: Principal,
    request: CreateRequest,
    dialect: Dialect,
    request_id: str,
    remembered: list[Json] | None = None,
    purpose: Purpose = "respond",
    reserved_id: str | None = None,
    generates: bool = True,
    backend: str | None = None,
) -> Prepared:
    """Check everything that can be checked beforehand, and make the job.

    `remembered` is the history where the caller holds it; `reserved_id` the response's id where the request may be sent
    again; without `generates` no model is to be asked; `backend` names the only one that may be. Raises
    `ProtocolError`; nothing is stored or queued.
    """
    request = with_checked_tools(as_kept(principal, request))
    _refuse_unserved(request)
    model = pinned(await find_model(request.model, principal.allowed_models, backend), backend)
    request = with_served_tools(request, model.targets)
    model = replace(model, targets=able(model.targets, request))
    _refuse_forbidden(principal, request, purpose)
    try:
        inbox = await process_inbox()
        context = await context_of(principal, request, remembered)
    except (RedisError, OSError) as error:
        log.error("Valkey does not answer", error=type(error).__name__)
        raise _NOT_HANDED_OVER.anew() from error
    await check_tools_said(context.history, context.given, request.tools, principal.tenant_id)
    named_bytes = await check_named_files(context.history, context.given, principal.tenant_id)
    asked = Asked(principal, request, dialect, request_id, purpose, reserved_id, generates)
    return await off_loop_if(context.size > MANY_ITEMS, asked.prepared, model, context, named_bytes, inbox)


def admission(prepared: Prepared) -> AbstractAsyncContextManager[dict[str, str]]:
    """The quotas hold what the job may use while the block hands it over: see `services.admission`."""
    return admitted(prepared.inbox.client, prepared.job, prepared.checks)


async def start(prepared: Prepared) -> Started:
    """Hand a prepared job to a worker. Raises `ProtocolError` 429 for a limit, 503."""
    job = prepared.job
    async with admission(prepared) as headers:
        follower = prepared.inbox.follow(job.response_id)
        _hand_over(job, prepared.envelope, follower)
    ear = Listener(follower, job.dialect, _recovery(job), on_unrun=partial(_charge_unrun, job))
    return Started(job.response_id, ear, headers)


async def start_keyed(prepared: Prepared) -> Started:
    """As `start`, of a job that may be asked for again: it goes on whoever leaves. Raises `ProtocolError` 429, 503."""
    job = prepared.job
    async with admission(prepared) as headers:
        follower = await follow_journal(job.response_id)
        _hand_over(job, prepared.envelope, follower)
    return Started(
        job.response_id, Listener(follower, job.dialect, _recovery(job), is_resumable=True), headers
    )


async def _charge_unrun(job: Job, error: ProtocolError | None) -> None:
    try:
        await in_database(charge_unrun, job, error)
    except ProtocolError:  # the log has it
        log.error("a request that no worker took could not be charged", response_id=job.response_id)


def _hand_over(job: Job, envelope: bytes, follower: Follower) -> None:
    loop = asyncio.get_running_loop()

    def refuse() -> None:
        loop.call_soon_threadsafe(follower.fail, _NOT_HANDED_OVER)

    process_dispatcher(turns).dispatch(
        job.response_id,
        envelope,
        tenant_id=job.tenant_id,
        service_tier=job.request["service_tier"],
        on_failure=refuse,
    )


async def start_background(prepared: Prepared) -> Started:
    """Store a background response and hand its job to a worker, for which nobody waits.

    Raises `ProtocolError` 429 for a limit, 503 where it could not be stored.
    """
    job = prepared.job
    async with admission(prepared) as headers:
        await in_database(accept, job, prepared.envelope)
    if job.request["stream"]:
        return Started(job.response_id, await follow_running(job), headers)
    return Started(job.response_id, Said(answer(running_snapshot(job, "queued"))), headers)


def _recovery(job: Job) -> Recover:
    request = job.request
    return recovery(UUID(job.tenant_id), job.response_id, store=request["store"], stream=request["stream"])


def recovery(tenant_id: UUID, response_id: str, *, store: bool, stream: bool) -> Recover:
    """Finds the end that was stored of a response, where the log has lost it."""

    async def recover(told: int, last: bytes) -> Message | None:
        if not store:
            return None
        return await in_database(stored_end, tenant_id, response_id, stream, told, last)

    return recover


def _refuse_forbidden(principal: Principal, request: CreateRequest, purpose: Purpose) -> None:
    """Refuse what the tool policies leave no way to do. Raises `ProtocolError` 403."""
    if not principal.policies or purpose != "respond":
        return
    policies = policies_of(principal.policies)
    refuse_options(request, policies)
    if not request.compacts:
        refuse_forbidden(request, policies)
        refuse_impossible(request, policies)


def _refuse_unserved(request: CreateRequest) -> None:
    if request.background and not request.store:
        raise invalid_request(
            "A background response is stored, for whoever asks for it later; `background` needs `store`: true.",
            param="background",
            code="unsupported_value",
        )
