"""The admin pages of the API: stored responses, and the backends with their routes."""

from responses_api.admin import backends, responses, routes, tenants

__all__ = ["backends", "responses", "routes", "tenants"]
