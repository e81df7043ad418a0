"""Sign-in by an identity provider: what it says of addresses counts only where it says that they are verified."""

from typing import Any

from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.conf import settings
from django.http import HttpRequest

from tenants.accounts.invited import invitation_of
from tenants.signup import CLOSED, OPEN


class SocialAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # django-allauth ships no types
    """Accounts of this service that begin at the provider, or are connected with it.

    Somebody with an account comes into it by an address that the provider has verified. Had the account never proven
    that address, its password is wiped first: whoever made it without being able to prove it is locked out.
    """

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        """Whether somebody may make an account: everybody, who was invited by this address, or nobody."""
        if settings.SIGNUP == CLOSED:
            return False
        return settings.SIGNUP == OPEN or self._is_invited(request, sociallogin)

    def _is_invited(self, request: HttpRequest, sociallogin: Any) -> bool:
        invitation = invitation_of(request)
        told = {address.email.lower() for address in sociallogin.email_addresses}
        return invitation is not None and invitation.email.lower() in told
