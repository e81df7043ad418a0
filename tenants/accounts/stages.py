"""What stands between the right password and being signed in: an address that is proven."""

from typing import Any

from allauth.account.stages import EmailVerificationStage
from django.http import HttpRequest
from django.shortcuts import render


class ProvenAddressStage(EmailVerificationStage):  # type: ignore[misc]  # django-allauth ships no types
    """As django-allauth's, but for operators, and for accounts without an address to prove."""

    request: HttpRequest
    login: Any

    def handle(self) -> Any:
        """The page that somebody ends at, if any, and whether the sign-in can go on from there."""
        user = self.login.user
        if user is not None and user.is_superuser:
            return None, True  # whoever made an operator answers for them
        if user is not None and not user.email:
            return render(self.request, "account/no_address.html", status=403), False
        return super().handle()
