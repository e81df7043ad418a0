"""Attempts at a background response, made by hand: a worker that claims it, tells something, and is lost."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pytest
from django.test import override_settings

from responses_api.dispatch import BACKGROUND_QUEUE
from responses_api.eventlog import journal, names, turns
from responses_api.eventlog.connection import asyncio_client, blocking_client
from responses_api.eventlog.message import Kind, Message
from responses_api.eventlog.publish import Address, Publisher
from responses_api.models import Backend, Response
from responses_api.protocol.job import Job
from responses_api.protocol.obfuscation import padding
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.target import Target
from responses_api.services import background
from responses_api.services.background import prelude, take_up
from responses_api.services.finish import open_row
from responses_api.services.identity import new_id, now
from responses_api.services.reap import reap
from responses_api.services.rescue import rescue
from responses_api.services.running import running_snapshot
from responses_api.services.stored import retrieve
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.builders import job_of
from tests.support.client import Client, Exchange, wait_until
from tests.support.queue_worker import claim
from workers.backends.parts import Part, TextDelta
from workers.emitter import Emitter

VALKEY: Final[Any] = blocking_client()
HELLO: Final = (TextDelta("t", "Hel"), TextDelta("t", "lo"))
LONG_AGO: Final = 100


def waiting(tenant: Tenant, backend: Backend, *, targets: Sequence[Target] = (), **body: Any) -> Job:
    """A background job that is offered and that nobody has claimed; `targets` are all that may serve it."""
    made = job_of(tenant, "Hello", background=True, backend=backend.spec(), **body)
    job = replace(made, created_at=now() - LONG_AGO)
    if targets:
        job = job.among(targets)
    open_row(job, running_snapshot(job, "queued"))
    waits = (job.tenant_id, job.response_id, job.to_bytes())
    turns.offer_background(BACKGROUND_QUEUE, waits, prelude(job).to_bytes())
    return job


def emitter_of(job: Job, *, made: Any = new_id) -> Emitter:
    pads = CreateRequest.from_plain(job.request).obfuscates
    return Emitter(
        running_snapshot(job),
        new_id=made,
        clock=now,
        background=True,
        pad=partial(padding, job.response_id) if pads else None,
    )


def begin(job: Job, parts: Sequence[Part] | None = HELLO, *, worker: str = "") -> tuple[str, Emitter]:
    """Let a worker claim the job, take it up and tell these parts (None: not even that it began)."""
    worker = worker or f"test:{uuid.uuid4().hex}"
    ((response_id, envelope),) = claim([job.response_id], worker)
    told = take_up(response_id, envelope, worker)
    assert told is not None
    emitter = emitter_of(job)
    if parts is not None:
        emitter.start()
        for part in parts:
            emitter.feed(part)
        frames = b"".join(frame + b"\n\n" for frame in emitter.drain().split(b"\n\n")[len(told) : -1])
        publish(job, worker, Message(Kind.EVENTS, len(told), emitter.next_sequence, frames))
    return worker, emitter


def publish(job: Job, worker: str, message: Message) -> None:
    async def write() -> None:
        async with asyncio_client() as client:
            publisher = Publisher(client)
            publisher.publish(
                Address(job.response_id, worker, None, journal=True, keep_journal=True, is_background=True),
                message,
            )
            await publisher.close()

    asyncio.run(write())


def lose(worker: str) -> None:
    """The worker is not heard of any more."""
    VALKEY.sadd(names.WORKERS, worker)
    VALKEY.delete(names.beat(worker))
    assert reap() == 1


def rescued() -> int:
    """As `rescue`, whoever has looked just now."""
    VALKEY.delete(names.RESCUE)
    with override_settings(LEASE_SECONDS=LONG_AGO / 10):
        return rescue()


def ended(tenant: Tenant, job: Job) -> Json:
    def look() -> Json | None:
        found = retrieve(tenant.id, job.response_id)
        return None if found["status"] in ("queued", "in_progress") else found

    found = wait_until(look, timeout=15, what="the end of the response")
    assert isinstance(found, dict)
    return found


def forget_in_valkey(job: Job) -> None:
    for key in VALKEY.keys(f"*{job.response_id}*"):
        VALKEY.delete(key)


def follow(client: Client, job: Job) -> Exchange:
    return client.open("GET", f"/responses/{job.response_id}?stream=true")


def told_until(job: Job, count: int) -> list[Json] | None:
    told = journal.read_events(job.response_id)
    return told if len(told) >= count else None


def row_of(job: Job) -> Any:
    with tenant_scope(uuid.UUID(job.tenant_id)):
        return Response.objects.get(id=job.response_id)


def lose_unheard(worker: str) -> None:
    """As `lose`, and the message of the second attempt is lost, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "announce", lambda *_: None)
        lose(worker)
