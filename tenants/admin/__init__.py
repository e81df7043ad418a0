"""The admin pages of tenancy: tenants, their keys, their people, and everybody's accounts."""

from tenants.admin import invitations, keys, members, operators, tenants

__all__ = ["invitations", "keys", "members", "operators", "tenants"]
