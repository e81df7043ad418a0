"""Founding a team, changing to another one, leaving one."""

import uuid

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from tenants import members
from tenants.accounts.forms import TeamForm
from tenants.members import NotAllowed, memberships_of
from tenants.models import Membership
from tenants.signup import found_tenant, may_found
from tenants.site.scope import CURRENT_TENANT


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def found(request: HttpRequest) -> HttpResponse:
    """Name a new team, and go to its first page."""
    form = TeamForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            tenant = found_tenant(request.user, form.cleaned_data["name"])
        except NotAllowed as refusal:
            form.add_error("name", str(refusal))
        else:
            request.session[CURRENT_TENANT] = str(tenant.id)
            messages.success(request, f"{tenant.name} is ready. Next: issue your first key, under API keys.")
            return redirect("admin:index")
    context = {
        "form": form,
        "may_found": may_found(request.user),
        "is_first": not memberships_of(request.user),
    }
    return render(request, "accounts/found.html", context)


@require_POST
@login_required
def switch(request: HttpRequest) -> HttpResponse:
    """Work in another one of one's teams. Raises `Http404` for a team that is not one's own, or that never was."""
    membership = _named(request)
    request.session[CURRENT_TENANT] = str(membership.tenant_id)
    return redirect("admin:index")


@require_POST
@login_required
def leave(request: HttpRequest) -> HttpResponse:
    """Ask once, then leave a team. Raises `Http404` for a team that is not one's own."""
    membership = _named(request)
    if not request.POST.get("confirmed"):
        return render(request, "accounts/leave.html", {"membership": membership})
    try:
        members.remove(membership.tenant_id, membership.pk, by=request.user)
    except NotAllowed as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"You have left {membership.tenant.name}.")
    return redirect("accounts:home")


def _named(request: HttpRequest) -> Membership:
    try:
        wanted = uuid.UUID(request.POST.get("tenant", ""))
    except ValueError:
        raise Http404 from None
    for membership in memberships_of(request.user):
        if membership.tenant_id == wanted:
            return membership
    raise Http404
