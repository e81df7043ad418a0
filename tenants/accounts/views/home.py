"""`/accounts/`: an account with its teams; for who has none yet, the way to one."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from tenants.accounts.invited import invitation_of
from tenants.members import current_of, memberships_of
from tenants.signup import may_found
from tenants.site.scope import CURRENT_TENANT


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """The account's page; who has no team and may found one comes to that instead."""
    mine = memberships_of(request.user)
    invitation = invitation_of(request)
    if not mine and not invitation and may_found(request.user) and not request.user.is_superuser:
        return redirect("accounts:found")
    context = {
        "memberships": mine,
        "current": current_of(mine, request.session.get(CURRENT_TENANT)),
        "invitation": invitation,
        "may_found": may_found(request.user),
    }
    return render(request, "accounts/home.html", context)
