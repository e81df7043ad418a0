"""Two tenants with the same things: what the friend has bears a mark that nobody else may ever read."""

import hashlib
import secrets
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from responses_api.models import FileChunk, IdempotentRequest, Item
from tenants import audit
from tenants.keys import new_key, revoke_key
from tenants.models import ApiKey, AuditEvent, Invitation, Limit, Membership, Tenant, ToolPolicy, UsageRecord
from tenants.models.membership import MEMBER, OWNER
from tenants.scoping import tenant_scope
from tests.integration.builders import stored, stored_file
from tests.support.tenants import make_tenant


@dataclass
class Estate:
    """What one tenant has. `mark` is in every text of it."""

    mark: str
    tenant: Tenant
    owner: User
    member: User
    key: ApiKey
    key_text: str
    revoked_text: str
    response_id: str
    continued_id: str
    file_id: str
    invitation_digest: str = ""
    """What the database holds of the link that invites into this tenant."""
    objects: dict[str, Any] = field(default_factory=dict)
    """The id of a row of this tenant, by the model's label (`tenants.Limit`)."""

    @property
    def secrets(self) -> set[str]:
        """What nobody else may read: the mark and the ids of everything."""
        ids = {str(value) for value in self.objects.values()}
        told = (
            self.mark,
            self.key_text,
            self.response_id,
            self.continued_id,
            self.file_id,
            self.invitation_digest,
        )
        return {*told, str(self.tenant.id), *ids}

    def fingerprint(self) -> dict[str, str]:
        """A digest of all rows of this tenant, by table: unchanged where nobody has touched them."""
        digests = {}
        with tenant_scope(self.tenant.id), connection.cursor() as cursor:
            for table, column in tenant_tables():
                cursor.execute(
                    f"SELECT string_agg(told, chr(10) ORDER BY told) FROM"
                    f' (SELECT row::text AS told FROM "{table}" AS row WHERE {column} = %s) AS rows',
                    [self.tenant.id],
                )
                (told,) = cursor.fetchone()
                digests[table] = hashlib.sha256((told or "").encode()).hexdigest()
        return digests


def tenant_tables() -> list[tuple[str, str]]:
    """The tables whose rows belong to tenants, and the column that says to which one."""
    tables = [(Tenant._meta.db_table, "id")]
    for model in apps.get_models():
        if any(column.column == "tenant_id" for column in model._meta.local_concrete_fields):
            tables.append((model._meta.db_table, "tenant_id"))
    return sorted(tables)


def make_estate(name: str) -> Estate:
    """A tenant with one of everything."""
    mark = f"{name}-{secrets.token_hex(8)}"
    tenant = make_tenant(mark)
    owner, member = (
        User.objects.create_user(f"{role}-{mark}", email=f"{role}@{mark}.example") for role in (OWNER, MEMBER)
    )
    key, key_text = new_key(tenant, name=f"key {mark}")
    revoked, revoked_text = new_key(tenant, name=f"revoked {mark}")
    first = stored(tenant, f"question {mark}", f"answer {mark}", metadata={"mark": mark})
    second = stored(tenant, "and?", f"more {mark}", previous_response_id=first["id"])
    file = stored_file(tenant, f"file {mark}", f"content {mark}".encode(), "vision")  # which no worker reads
    told = (first["id"], second["id"], file["id"])
    estate = Estate(mark, tenant, owner, member, key, key_text, revoked_text, *told)
    with tenant_scope(tenant.id):
        revoke_key(revoked)
        for user, role in ((member, MEMBER), (owner, OWNER)):  # the last one is asked for
            membership = Membership.objects.create(tenant=tenant, user=user, role=role)
        _fill(estate, membership)
    return estate


def _fill(estate: Estate, membership: Membership) -> None:
    tenant, mark = estate.tenant, estate.mark
    invitation = Invitation.objects.create(
        tenant=tenant,
        email=f"invited@{mark}.example",
        digest=secrets.token_bytes(32),
        expires_at=timezone.now() + timedelta(days=7),
    )
    estate.invitation_digest = invitation.digest.hex()
    limit = Limit.objects.create(tenant=tenant, model=mark, metric="tokens_per_month", amount=10**12)
    rules = [{"id": "r1", "effect": "deny", "kind": "function", "tool": f"{mark}*"}]
    policy = ToolPolicy.objects.create(tenant=tenant, version=1, rules=rules)
    # The ledger got its rows with the responses' ends.
    UsageRecord.objects.update(model=mark)
    record = UsageRecord.objects.get(response_id=estate.response_id)
    audit.record("test.made", mark, tenant_id=tenant.id)
    FileChunk.objects.create(
        id=f"chunk_{mark}", tenant=tenant, file_id=estate.file_id, position=0, text=f"chunk {mark}"
    )
    IdempotentRequest.objects.create(
        tenant=tenant, key=f"once-{mark}", digest=bytes(32), response_id=estate.response_id
    )
    estate.objects.update(
        {
            "tenants.Tenant": tenant.id,
            "tenants.ApiKey": estate.key.id,
            "tenants.Membership": membership.id,
            "tenants.Invitation": invitation.id,
            "tenants.Limit": limit.id,
            "tenants.ToolPolicy": policy.id,
            "tenants.UsageRecord": record.pk,
            "tenants.AuditEvent": _latest_audit(),
            "responses_api.File": estate.file_id,
            "responses_api.Response": estate.response_id,
            "responses_api.Item": Item.objects.filter(response_id=estate.response_id).values_list(
                "pk", flat=True
            )[0],
        }
    )


def _latest_audit() -> uuid.UUID:
    event = AuditEvent.objects.first()
    assert event is not None
    found: uuid.UUID = event.id
    return found
