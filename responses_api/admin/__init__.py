"""The admin pages of the API: stored responses and files, and the backends with their routes."""

from responses_api.admin import backends, files, responses, routes, tenants

__all__ = ["backends", "files", "responses", "routes", "tenants"]
