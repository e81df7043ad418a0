"""Once: a request with an `Idempotency-Key` is answered by one response, however often and wherever it is sent.

The key is reserved in PostgreSQL before anything else is done, with the id of the response to come. Whoever finds it
reserved attaches to that response while it runs, or reads its answer where it was stored. A request that was refused
before anything was generated gives its key back.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import orjson
import structlog
from django.conf import settings
from django.db import connection
from django.utils.crypto import salted_hmac
from redis.exceptions import RedisError

from responses_api.eventlog import bus, claims
from responses_api.eventlog.message import Kind, Message
from responses_api.models import IdempotentRequest, Response
from responses_api.models.idempotency import LONGEST_KEY
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.ids import RESPONSE
from responses_api.protocol.job import Job
from responses_api.protocol.request import CreateRequest
from responses_api.services.create import Started, prepare, recovery, start_background, start_keyed
from responses_api.services.database import in_database
from responses_api.services.endings import answer
from responses_api.services.finish import charge_unrun
from responses_api.services.following import Place, follow, follow_journal
from responses_api.services.identity import new_id
from responses_api.services.keeping import as_kept
from responses_api.services.listening import NOBODY_CAME, Ear, Listener, Said
from responses_api.services.routing import check_allowed
from responses_api.services.stored import answer_of, retrieve
from tenants.keys import Principal
from tenants.scoping import operator_scope, tenant_scope

log = structlog.get_logger(__name__)

HEADER: Final = "Idempotency-Key"
_SALT: Final = "antiphon.idempotent-request"
_LOOK_SECONDS: Final = 0.1

# A key that has expired is as good as none.
_RESERVE: Final = """
INSERT INTO responses_api_idempotentrequest AS held (tenant_id, key, digest, response_id)
VALUES (%(tenant)s, %(key)s, %(digest)s, %(mine)s)
ON CONFLICT (tenant_id, key) DO UPDATE
   SET digest = excluded.digest, response_id = excluded.response_id, created_at = now(), is_gone = false
 WHERE held.created_at < now() - make_interval(secs => %(seconds)s)
"""
_HELD: Final = """
SELECT response_id, digest, is_gone, extract(epoch FROM now() - created_at)
  FROM responses_api_idempotentrequest WHERE tenant_id = %(tenant)s AND key = %(key)s
"""
# In batches: however many there are, no statement takes longer than one may.
_PURGE_AT_ONCE: Final = 5_000
_PURGE: Final = """
DELETE FROM responses_api_idempotentrequest WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM responses_api_idempotentrequest
     WHERE created_at < now() - make_interval(secs => %(seconds)s) ORDER BY created_at LIMIT %(most)s
     FOR UPDATE SKIP LOCKED
))
"""


@dataclass(frozen=True, slots=True)
class _Held:
    """What is reserved under a key."""

    response_id: str
    digest: bytes
    is_gone: bool
    age: float


def checked_key(text: str) -> str:
    """The key in the header. Raises `ProtocolError` 400."""
    if not (0 < len(text) <= LONGEST_KEY and all("!" <= letter <= "~" for letter in text)):
        raise invalid_request(
            f"The header {HEADER} must be 1 to {LONGEST_KEY} visible ASCII characters.", param=HEADER
        )
    return text


async def create_once(
    *,
    key: str,
    principal: Principal,
    request: CreateRequest,
    dialect: Dialect,
    request_id: str,
    backend: str | None = None,
) -> Started:
    """As `create`; a second request with the same key and body is given the first one's response.

    Raises `ProtocolError`: 409 `idempotency_key_reused` where the body is another one, 409
    `idempotency_key_answer_gone` where the answer was not stored or was deleted; 404 for a model that is not for this
    key, also where another key of the tenant has the answer.
    """
    request = as_kept(principal, request)
    check_allowed(request.model, principal.allowed_models)
    digest, mine = await asyncio.to_thread(_digest, request, backend), new_id(RESPONSE)
    while True:
        held = await in_database(_reserve, principal.tenant_id, key, digest, mine)
        if held.digest != digest:
            raise _reused()
        if held.is_gone:
            raise _gone()
        if held.response_id != mine:
            ear = await _attach(principal.tenant_id, held.response_id, request, dialect)
            if ear is not None:
                # Whoever reserved the key may have left before the refusal came.
                release = partial(in_database, _release, principal.tenant_id, held.response_id)
                return Started(held.response_id, _Releasing(ear, release), {})
            if not await _takes_over(principal.tenant_id, held, request, mine):
                await asyncio.sleep(_LOOK_SECONDS)
                continue
        return await _start(mine, principal, request, dialect, request_id, backend)


def purge() -> int:
    """Delete the keys that have expired; returns how many."""
    purged, batch = 0, _PURGE_AT_ONCE
    while batch == _PURGE_AT_ONCE:
        with operator_scope(), connection.cursor() as cursor:
            cursor.execute(_PURGE, {"seconds": settings.IDEMPOTENCY_SECONDS, "most": _PURGE_AT_ONCE})
            batch = cursor.rowcount
        purged += batch
    return purged


def _digest(request: CreateRequest, backend: str | None) -> bytes:
    """What was asked, and of which backend, whatever the order of its fields. Keyed, so that nobody who reads the row
    can try out guesses: of what gets tools in elsewhere, too, nothing else is kept.
    """
    asked = request.to_plain()
    if backend is not None or request.secrets:
        asked = {"request": asked, "backend": backend, "secrets": dict(request.secrets)}
    plain = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    return salted_hmac(_SALT, plain, algorithm="sha256").digest()


def _reserve(tenant_id: uuid.UUID, key: str, digest: bytes, mine: str) -> _Held:
    """Reserve the key for the response `mine`, or find for which one it is."""
    given: dict[str, Any] = {
        "tenant": tenant_id,
        "key": key,
        "digest": digest,
        "mine": mine,
        "seconds": settings.IDEMPOTENCY_SECONDS,
    }
    with tenant_scope(tenant_id), connection.cursor() as cursor:
        cursor.execute(_RESERVE, given)
        cursor.execute(_HELD, given)
        response_id, held, is_gone, age = cursor.fetchone()
    return _Held(response_id, bytes(held), is_gone, float(age))


async def _start(
    mine: str,
    principal: Principal,
    request: CreateRequest,
    dialect: Dialect,
    request_id: str,
    backend: str | None,
) -> Started:
    """Generate the response that the key is reserved for; what is refused gives the key back."""
    release = partial(in_database, _release, principal.tenant_id, mine)
    give_up: Callable[[], Awaitable[object]] = release
    try:
        prepared = await prepare(
            principal=principal,
            request=request,
            dialect=dialect,
            request_id=request_id,
            reserved_id=mine,
            backend=backend,
        )
        if request.background:
            return await start_background(prepared)
        started = await start_keyed(prepared)
        give_up = partial(in_database, _give_up, prepared.job)
    except BaseException:
        await asyncio.shield(release())
        raise
    return Started(mine, _Releasing(started.listener, give_up), started.headers)


def _give_up(job: Job) -> None:
    """As `_release`, by who began it: what no worker had taken is charged as that."""
    if not _release(uuid.UUID(job.tenant_id), job.response_id):
        charge_unrun(job, NOBODY_CAME)


def _release(tenant_id: uuid.UUID, response_id: str) -> bool:
    """Give the key back, unless something was generated and stored; nobody generates it later. False where no worker
    had it.
    """
    with tenant_scope(tenant_id):
        if Response.objects.filter(id=response_id).exists():
            return True
        IdempotentRequest.objects.filter(response_id=response_id).delete()
    try:
        return bus.withdraw(response_id) is not None
    except (RedisError, OSError) as error:
        log.warning("a refused response could not be withdrawn", error=type(error).__name__)
        return True


class _Releasing:
    """An ear that gives the key back where the first thing it hears is a refusal."""

    is_resumable = True

    def __init__(self, ear: Ear, release: Callable[[], Awaitable[object]]) -> None:
        self._ear = ear
        self._release = release

    async def next_message(self) -> Message | None:
        """The next message."""
        message = await self._ear.next_message()
        if message is not None and message.kind is Kind.REJECT:
            await self._release()
        return message

    def break_off(self, error: ProtocolError) -> Message:
        """The end of a stream that has begun and cannot go on here."""
        return self._ear.break_off(error)

    async def close(self) -> None:
        """Stop listening."""
        await self._ear.close()


async def _attach(
    tenant_id: uuid.UUID, response_id: str, request: CreateRequest, dialect: Dialect
) -> Ear | None:
    """An ear on the response that the key is reserved for; None while there is nothing to hear."""
    if request.store:
        ear = await _stored(tenant_id, response_id, request)
        if ear is not None:
            return ear
    (found,) = await in_database(claims.whereabouts, [response_id])
    if request.background or not (found.is_offered or found.has_journal):
        return None
    recover = recovery(tenant_id, response_id, store=request.store, stream=request.stream)
    return Listener(await follow_journal(response_id), dialect, recover, is_resumable=True)


async def _stored(tenant_id: uuid.UUID, response_id: str, request: CreateRequest) -> Ear | None:
    """An ear on what is stored of the response; None while nothing is."""
    try:
        if request.stream:
            return await follow(tenant_id, response_id, Place())
        if request.background:
            return Said(answer(await in_database(retrieve, tenant_id, response_id)))
    except ProtocolError as error:
        if error.status != 404:
            raise
        return None
    told = await in_database(answer_of, tenant_id, response_id)
    return Said(told) if told is not None else None


async def _takes_over(tenant_id: uuid.UUID, held: _Held, request: CreateRequest, mine: str) -> bool:
    """Whether the response may be made by this request: whoever reserved the key has died before it was begun.

    Raises `ProtocolError` 409 where the answer was told once and is gone.
    """
    if held.age < settings.QUEUE_SECONDS + settings.DATABASE_WAIT_SECONDS:
        return False
    if not request.store:
        raise _gone()
    return await in_database(_move, tenant_id, held.response_id, mine)


def _move(tenant_id: uuid.UUID, response_id: str, mine: str) -> bool:
    with tenant_scope(tenant_id):
        held = IdempotentRequest.objects.filter(response_id=response_id, is_gone=False)
        return bool(held.update(response_id=mine))


def _reused() -> ProtocolError:
    return invalid_request(
        f"This {HEADER} was used for another request; take a new one for each request.",
        param=HEADER,
        code="idempotency_key_reused",
        status=409,
    )


def _gone() -> ProtocolError:
    return invalid_request(
        f"The answer to this {HEADER} was given, and is not stored; take a new key to ask again.",
        param=HEADER,
        code="idempotency_key_answer_gone",
        status=409,
    )
