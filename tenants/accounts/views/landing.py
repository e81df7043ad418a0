"""`/`: what this is, and the ways in."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from tenants.signup import OPEN


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    """The page for who comes by."""
    return render(request, "accounts/landing.html", {"sign_up_is_open": settings.SIGNUP == OPEN})
