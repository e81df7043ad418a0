"""The page that an invitation leads to, and its acceptance."""

from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from tenants import invitations
from tenants.accounts.invited import digest_of_visit, forget, invitation_of, remember
from tenants.members import NotAllowed
from tenants.models import Invitation
from tenants.signup import CLOSED
from tenants.site.scope import CURRENT_TENANT


@require_safe
def invited(request: HttpRequest, token: str) -> HttpResponse:
    """Where the link leads: the token is taken out of the address before anything is shown."""
    remember(request, invitations.digest_of(token))
    return redirect("accounts:invitation")


@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest) -> HttpResponse:
    """Show the invitation that somebody came by, or accept it."""
    found = invitation_of(request)
    if found is None:
        return _gone(request)
    if request.method == "POST" and request.user.is_authenticated:
        return _accept(request, found)
    context = {
        "invitation": found,
        "is_theirs": found.email.lower() in _addresses(request.user),
        "has_account": _has_account(found.email),
        "sign_up_is_closed": settings.SIGNUP == CLOSED,
    }
    return render(request, "accounts/invitation.html", context)


def _accept(request: HttpRequest, found: Invitation) -> HttpResponse:
    try:
        addresses = _addresses(request.user)
        membership = invitations.accept(
            digest_of_visit(request) or "", user=request.user, addresses=addresses
        )
    except invitations.Gone:
        return _gone(request)
    except NotAllowed as refusal:
        messages.error(request, str(refusal))
        return redirect("accounts:invitation")
    forget(request)
    request.session[CURRENT_TENANT] = str(membership.tenant_id)
    messages.success(request, f"Welcome to {found.tenant.name}.")
    return redirect("admin:index")


def _addresses(user: Any) -> list[str]:
    """The addresses that a person has proven, in small letters."""
    if not user.is_authenticated:
        return []
    proven = EmailAddress.objects.filter(user=user, verified=True)
    return [email.lower() for email in proven.values_list("email", flat=True)]


def _has_account(email: str) -> bool:
    """Whether the one whom the link was sent to should sign in: they own the address, so it may be told."""
    known = EmailAddress.objects.filter(email__iexact=email).exists()
    return known or get_user_model().objects.filter(email__iexact=email).exists()


def _gone(request: HttpRequest) -> HttpResponse:
    forget(request)
    return render(request, "accounts/invitation_gone.html", status=404)
