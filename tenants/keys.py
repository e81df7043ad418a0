"""Keys: how they are made, recognised and revoked. (`rotation.py` replaces one; `rules.py` says what its rules mean.)

A key is `ak_` and 43 letters (256 random bits). The table keeps its SHA-256: with that much entropy a slow hash would
add nothing but load. Recognition goes through a short in-process cache; a revoke sends `signals.access_changed`, which
the event bus carries to every process, and `forget` empties the cache at once.
"""

import hashlib
import secrets
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from tenants import audit
from tenants.limits import LimitSpec, limits_of
from tenants.models import ApiKey, Membership, Tenant
from tenants.models.key import all_scopes
from tenants.models.membership import ADMIN, OWNER
from tenants.policies import policies_in_force
from tenants.rules import checked_addresses, checked_models, checked_scopes
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


def issue_key(tenant: Tenant, *, name: str, **rules: Any) -> str:
    """Make a key for `tenant` and return its text, which cannot be had again. `rules` as in `new_key`."""
    return new_key(tenant, name=name, **rules)[1]


def new_key(
    tenant: Tenant,
    *,
    name: str,
    dialect: str = "auto",
    unserved_tools: str = "auto",
    scopes: Sequence[str] | None = None,
    expires_at: datetime | None = None,
    allowed_models: Sequence[str] = (),
    allowed_addresses: Sequence[str] = (),
    purpose: str = "app",
    user: Any = None,
) -> tuple[ApiKey, str]:
    """As `issue_key`: the stored key and its text. `user` is who issues it.

    Scopes None is all of them. Raises `tenants.rules.BadRule`, a ValueError, for rules that no key can have.
    """
    text = _new_text()
    with tenant_scope(tenant.id):
        key = ApiKey.objects.create(
            tenant=tenant,
            name=name,
            dialect=dialect,
            unserved_tools=unserved_tools,
            scopes=checked_scopes(scopes if scopes is not None else all_scopes()),
            expires_at=expires_at,
            allowed_models=checked_models(allowed_models),
            allowed_addresses=checked_addresses(allowed_addresses),
            purpose=purpose,
            created_by=user,
            digest=_digest(text),
            prefix=text[:7],
            last_four=text[-4:],
        )
        audit.record("key.issued", str(key), tenant_id=tenant.id, user=user, **rules_of(key))
    return key, text


def rules_of(key: ApiKey) -> dict[str, Any]:
    """What a key may do, as the plain facts of the audit log."""
    return {
        "scopes": key.scopes,
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        "allowed_models": key.allowed_models,
        "allowed_addresses": key.allowed_addresses,
        "dialect": key.dialect,
        "unserved_tools": key.unserved_tools,
        "purpose": key.purpose,
    }


def change_key(key: ApiKey, rules: Mapping[str, Any], *, user: Any = None) -> None:
    """Give `key` these rules and the name that it has, inside a scope; every process learns it at once."""
    before = rules_of(ApiKey.objects.select_for_update(no_key=True, of=("self",)).get(pk=key.pk))
    for name, value in rules.items():
        setattr(key, name, value)
    key.save(update_fields=["name", *rules])
    after = rules_of(key)
    changed = {name: [before[name], after[name]] for name in after if before[name] != after[name]}
    audit.record("key.changed", str(key), tenant_id=key.tenant_id, user=user, changed=changed)
    announce_change()


def revoke_key(key: ApiKey, *, user: Any = None) -> None:
    """Revoke `key` for good, inside a scope; every process learns it at once. One that was revoked before stays so."""
    if key.revoked_at is not None:
        return
    key.revoked_at = timezone.now()
    if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=key.revoked_at):
        audit.record("key.revoked", str(key), tenant_id=key.tenant_id, user=user)
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
        key = _working(digest=digest).select_related("tenant").first()
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


def still_working(key_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, float | None]:
    """Those of these keys that still work, each with its end in unix seconds (None: it has none).

    Asks the database, once for all of them.
    """
    with operator_scope():
        ends = dict(_working(id__in=key_ids).values_list("id", "expires_at"))
    return {key_id: end.timestamp() if end else None for key_id, end in ends.items()}


def _working(**which: Any) -> QuerySet[Any]:
    """The keys that were not revoked, of tenants that are switched on, inside the operator's scope.

    An app's key is its tenant's, whoever issued it. The playground's is its person's: it works while that person may
    still ask in the tenant's name.
    """
    may_ask = Membership.objects.filter(
        tenant_id=OuterRef("tenant_id"), user_id=OuterRef("created_by_id"), role__in=(OWNER, ADMIN)
    )
    stands = Q(created_by__is_active=True) & (Q(created_by__is_superuser=True) | Exists(may_ask))
    return ApiKey.objects.filter(Q(purpose="app") | stands, revoked_at=None, tenant__is_active=True, **which)


def forget() -> None:
    """Empty this process's cache: a key or a tenant was changed somewhere.

    What was read before the change, and not yet kept, will be kept in the old generation, which nobody asks.
    """
    global _cache
    _cache = {}


def _new_text() -> str:
    """The text of a key. Its last four letters name it in commands, so they do not begin as an option does."""
    while True:
        text = PREFIX + secrets.token_urlsafe(32)
        if text[-4] != "-":
            return text


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
