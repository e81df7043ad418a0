"""The admin pages of tenancy: tenants, their keys, limits and people, and everybody's accounts."""

from tenants.admin import invitations, keys, limits, members, operators, tenants

__all__ = ["invitations", "keys", "limits", "members", "operators", "tenants"]
