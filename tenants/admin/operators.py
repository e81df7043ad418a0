"""Who may use the admin: Django's own users, on the theme's forms. Groups are not used and not shown."""

from typing import TYPE_CHECKING, Any, TypeAlias

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User

from tenants.admin.base import OperatorAdmin

if TYPE_CHECKING:
    from django.contrib.auth.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

    _UserAdmin: TypeAlias = UserAdmin[Any]
else:
    from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

    _UserAdmin = UserAdmin

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class OperatorUserAdmin(_UserAdmin, OperatorAdmin):
    """Operators are superusers; other staff can log in and see nothing."""

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
