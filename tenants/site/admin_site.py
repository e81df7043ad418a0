"""The one admin site: operators and the people of tenants come in, each to what is theirs."""

from typing import TYPE_CHECKING, TypeAlias

from django.contrib.admin import AdminSite
from django.http import HttpRequest

from tenants.site.scope import membership_of

if TYPE_CHECKING:
    _Site: TypeAlias = AdminSite
else:
    from unfold.sites import UnfoldAdminSite as _Site


class AntiphonSite(_Site):
    """The theme's site; not `is_staff` decides who may come in but what a person has to look at."""

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether somebody is an operator or belongs to a tenant that is switched on."""
        user = request.user
        return bool(user.is_active and (user.is_superuser or membership_of(request) is not None))
