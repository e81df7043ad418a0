"""The admin pages of tenancy: tenants, their keys, limits, tool policies and people, and everybody's accounts."""

from tenants.admin import audit, invitations, keys, limits, members, operators, policies

__all__ = ["audit", "invitations", "keys", "limits", "members", "operators", "policies"]
