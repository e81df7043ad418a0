"""Keys: how they are made, recognised and revoked.

A key is `ak_` and 43 letters (256 random bits). The table keeps its SHA-256: with that much entropy a slow hash would
add nothing but load. Recognition goes through a short in-process cache; a revoke sends `signals.access_changed`, which
the event bus carries to every process, and `forget` empties the cache at once.
"""

import hashlib
import secrets
import time
import uuid
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from tenants.limits import LimitSpec, limits_of
from tenants.models import ApiKey, Tenant
from tenants.models.key import all_scopes
from tenants.policies import policies_in_force
from tenants.scoping import operator_scope, tenant_scope
from tenants.signals import access_changed

PREFIX: Final = "ak_"
_MAX_KEY_LENGTH: Final = 200
_MAX_CACHED: Final = 10_000


KeyDialect = Literal["auto", "open", "openai"]
UnservedTools = Literal["auto", "refuse", "leave_out"]


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls: the tenant and the key, what the key says of its clients, and what holds for its requests.

    `expires_at` is in unix seconds; `allowed_models` and `allowed_addresses` are patterns, empty for all; `policies`
    are plain data (`tenants.policies.plain_policy`). `is_authenticated` is what Django REST framework asks for.
    """

    tenant_id: uuid.UUID
    key_id: uuid.UUID
    dialect: KeyDialect = "auto"
    unserved_tools: UnservedTools = "auto"
    scopes: frozenset[str] = frozenset(all_scopes())
    allowed_models: tuple[str, ...] = ()
    allowed_addresses: tuple[str, ...] = ()
    expires_at: float | None = None
    zero_data_retention: bool = False
    limits: tuple[LimitSpec, ...] = ()
    policies: tuple[dict[str, Any], ...] = ()
    is_authenticated: bool = True


_cache: dict[bytes, tuple[float, Principal | None]] = {}


def issue_key(tenant: Tenant, *, name: str, dialect: str = "auto", unserved_tools: str = "auto") -> str:
    """Make a key for `tenant` and return its text, which cannot be had again."""
    return new_key(tenant, name=name, dialect=dialect, unserved_tools=unserved_tools)[1]


def new_key(
    tenant: Tenant, *, name: str, dialect: str = "auto", unserved_tools: str = "auto"
) -> tuple[ApiKey, str]:
    """As `issue_key`: the stored key and its text."""
    text = PREFIX + secrets.token_urlsafe(32)
    with tenant_scope(tenant.id):
        key = ApiKey.objects.create(
            tenant=tenant,
            name=name,
            dialect=dialect,
            unserved_tools=unserved_tools,
            digest=_digest(text),
            prefix=text[:7],
            last_four=text[-4:],
        )
    return key, text


def revoke_key(key: ApiKey) -> None:
    """Revoke `key` for good; every process learns it at once."""
    key.revoked_at = key.revoked_at or timezone.now()
    key.save(update_fields=["revoked_at"])
    announce_change()


def announce_change() -> None:
    """Tell every process, once the transaction is committed, that keys or tenants have changed."""
    transaction.on_commit(lambda: access_changed.send(sender=None))


def cached_principal(text: str) -> tuple[bool, Principal | None]:
    """What the cache knows of this key: (known, principal). Never touches the database."""
    if not text.startswith(PREFIX) or len(text) > _MAX_KEY_LENGTH:
        return True, None
    entry = _cache.get(_digest(text))
    if entry is None or entry[0] < time.monotonic():
        return False, None
    return True, entry[1]


def find_principal(text: str) -> Principal | None:
    """The principal of a key's text; None when it is unknown, revoked, or its tenant is switched off."""
    known, principal = cached_principal(text)
    if known:
        return principal
    digest = _digest(text)
    generation = _cache  # before the database is asked: see `forget`
    principal = _read_principal(digest)
    if len(generation) >= _MAX_CACHED:
        generation.clear()
    generation[digest] = (time.monotonic() + settings.CACHE_SECONDS, principal)
    return principal


def _read_principal(digest: bytes) -> Principal | None:
    with operator_scope():
        working = ApiKey.objects.filter(digest=digest, revoked_at=None, tenant__is_active=True)
        key = working.select_related("tenant").first()
        if key is None:
            return None
        return Principal(
            tenant_id=key.tenant_id,
            key_id=key.id,
            dialect=key.dialect,
            unserved_tools=key.unserved_tools,
            scopes=frozenset(key.scopes),
            allowed_models=tuple(key.allowed_models),
            allowed_addresses=tuple(key.allowed_addresses),
            expires_at=key.expires_at.timestamp() if key.expires_at else None,
            zero_data_retention=key.tenant.zero_data_retention,
            limits=limits_of(key.tenant_id, key.id),
            policies=policies_in_force(key.tenant_id, key.id),
        )


def forget() -> None:
    """Empty this process's cache: a key or a tenant was changed somewhere.

    What was read before the change, and not yet kept, will be kept in the old generation, which nobody asks.
    """
    global _cache
    _cache = {}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
