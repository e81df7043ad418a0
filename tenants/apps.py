"""The tenants app."""

from django.apps import AppConfig
from django.contrib.admin import apps as django_admin


class TenantsConfig(AppConfig):
    """Tenants and their keys."""

    name = "tenants"
    default = True
    verbose_name = "Tenants"

    def ready(self) -> None:
        """Listen to who signs up."""
        import tenants.accounts.signals  # noqa: F401


class SiteConfig(django_admin.AdminConfig):
    """Django's admin with this project's site."""

    default = False
    default_site = "tenants.site.admin_site.AntiphonSite"
