"""The stored objects of tenancy."""

from tenants.models.key import ApiKey
from tenants.models.tenant import Tenant

__all__ = ["ApiKey", "Tenant"]
