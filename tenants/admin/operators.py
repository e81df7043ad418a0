"""Everybody's accounts, for operators: Django's own users, on the theme's forms. Groups are not used and not shown."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest

from tenants.admin.base import OperatorAdmin
from tenants.keys import announce_change
from tenants.members import last_owner_of

if TYPE_CHECKING:
    from django.contrib.auth.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

    _UserAdmin: TypeAlias = UserAdmin[Any]
else:
    from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

    _UserAdmin = UserAdmin

# What django-allauth registers by itself: providers are configured by the environment, addresses by their owners.
for _model in (User, Group, EmailAddress, SocialAccount, SocialApp, SocialToken):
    admin.site.unregister(_model)


@admin.register(User)
class OperatorUserAdmin(_UserAdmin, OperatorAdmin):
    """Operators are superusers; what other people see follows from their memberships."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password", "email")}),
        ("May", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("Times", {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save; an address that an operator entered takes the place of the old ones, and has to be proven again."""
        super().save_model(request, obj, form, change)
        if change and "email" in form.changed_data:
            EmailAddress.objects.filter(user=obj).delete()
        if {"is_active", "is_superuser"} & set(form.changed_data):
            announce_change()  # the person's keys of the playground end with it

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        """Delete, and have their keys of the playground end."""
        super().delete_model(request, obj)
        announce_change()

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """As `delete_model`, for each of the selected ones."""
        super().delete_queryset(request, queryset)
        announce_change()

    def get_deleted_objects(self, objs: QuerySet[Any] | Sequence[Any], request: HttpRequest) -> Any:
        """What goes along with an account. Whoever is a team's only owner cannot be deleted: it would have nobody."""
        deleted, counts, perms_needed, protected = super().get_deleted_objects(objs, request)
        for user in objs:
            protected.extend(f"{user} is the only owner of the team {name}" for name in last_owner_of(user))
        return deleted, counts, perms_needed, protected
