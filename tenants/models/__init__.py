"""The stored objects of tenancy."""

from tenants.models.audit import AuditEvent
from tenants.models.key import ApiKey
from tenants.models.limit import Limit
from tenants.models.membership import Invitation, Membership
from tenants.models.policy import ToolPolicy
from tenants.models.tenant import Tenant
from tenants.models.usage import UsageRecord
from tenants.models.usage_total import UsageTotal

__all__ = [
    "ApiKey",
    "AuditEvent",
    "Invitation",
    "Limit",
    "Membership",
    "Tenant",
    "ToolPolicy",
    "UsageRecord",
    "UsageTotal",
]
