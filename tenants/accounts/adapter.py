"""What django-allauth asks this service: who may sign up, how mails are sent, where people go next."""

from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context, ratelimit
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import get_random_string
from django.utils.http import url_has_allowed_host_and_scheme

from tenants import mail
from tenants.accounts.invited import invitation_of
from tenants.addresses import client_address
from tenants.signup import CLOSED, OPEN

_NOBODY_KNOWS: Final = "0.0.0.0"
_NAME_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # django-allauth ships no types
    """Accounts of this service."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        # One sentence for every way in which a sign-in fails.
        **dict.fromkeys(
            ("email_password_mismatch", "username_password_mismatch", "invalid_login"),
            "The e-mail address and the password do not belong together.",
        ),
        "too_many_login_attempts": "There were too many failed sign-ins. Try again in five minutes.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Whether somebody may make an account: everybody, who was invited, or nobody."""
        if settings.SIGNUP == CLOSED:
            return False
        return settings.SIGNUP == OPEN or invitation_of(request) is not None

    def is_email_verified(self, request: HttpRequest, email: str) -> bool:
        """Whether an address is proven already: an invitation's link came to it."""
        invitation = invitation_of(request)
        return invitation is not None and invitation.email.lower() == email.lower()

    def populate_username(self, request: HttpRequest, user: Any) -> None:
        """Give a new user a name that tells nothing and is nobody's address: people sign in by their address."""
        user.username = f"u-{get_random_string(20, _NAME_LETTERS)}"

    def get_login_stages(self) -> list[str]:
        """What stands between the right password and being signed in."""
        return ["tenants.accounts.stages.ProvenAddressStage"]

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        """Where a new person goes who was not on the way to anywhere."""
        return self.get_login_redirect_url(request)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Where somebody goes who was not on the way to anywhere: to their invitation, else to the site."""
        return reverse("accounts:invitation") if invitation_of(request) else str(settings.LOGIN_REDIRECT_URL)

    def is_safe_url(self, url: str) -> bool:
        """Whether a page to go to next is one of this very host."""
        request = context.request
        return url_has_allowed_host_and_scheme(
            url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )

    def get_client_ip(self, request: HttpRequest) -> str:
        """Whose attempts are counted together; those who cannot be told apart are one."""
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR")
        peer = request.META.get("REMOTE_ADDR") or None
        return client_address(peer, [forwarded] if forwarded else []) or _NOBODY_KNOWS

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail. Raises `MailFailed`, and forgets that one was sent: the next attempt is no attempt too many."""
        request = self.request
        site = {"name": "Antiphon", "domain": request.get_host()}
        told = {"request": request, "email": email, "current_site": site, **context}
        try:
            mail.deliver(self.render_mail(template_prefix, email, told))
        except mail.MailFailed:
            ratelimit.clear(request, action="confirm_email", key=email.lower())
            raise

    def send_notification_mail(self, *args: Any, **kwargs: Any) -> None:
        """Tell somebody that their account was changed. What was done stays done: a failure is in the log only."""
        try:
            super().send_notification_mail(*args, **kwargs)
        except mail.MailFailed:
            return
