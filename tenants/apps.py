"""The tenants app."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Tenants and their keys."""

    name = "tenants"
    verbose_name = "Tenants"
