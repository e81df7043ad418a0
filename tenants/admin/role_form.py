"""What the forms of members and of invitations share: a role, which is not everybody's to give."""

from typing import Any

from django.http import HttpRequest

from tenants.admin.base import RequestFormAdmin, membership_of
from tenants.members import roles_to_give
from tenants.models.membership import ROLES


class RoleAdmin(RequestFormAdmin):
    """An admin of rows with a role."""

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Only the roles that may be given."""
        if db_field.name == "role":
            given = roles_to_give(request.user, membership_of(request))
            kwargs["choices"] = [choice for choice in ROLES if choice[0] in given]
        return super().formfield_for_choice_field(db_field, request, **kwargs)
