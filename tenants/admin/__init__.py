"""The admin pages of tenancy: tenants, their keys, and the operators who may look."""

from tenants.admin import keys, operators, tenants

__all__ = ["keys", "operators", "tenants"]
