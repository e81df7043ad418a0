"""The forms of the pages for people."""

from typing import Any, Final

from allauth.account.forms import SignupForm as AllauthSignupForm
from allauth.core import context
from django import forms
from django.contrib.auth.hashers import make_password
from django.http import HttpRequest

from tenants.accounts.invited import invitation_of

_LONGEST_NAME: Final = 120


class SignupForm(AllauthSignupForm):  # type: ignore[misc]  # django-allauth ships no types
    """An address and a password. Who was invited signs up with the address that the invitation was sent to."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = "E-mail address"
        self.fields["password1"].help_text = "At least 12 characters, and none of the common ones."
        invitation = invitation_of(context.request)
        if invitation is not None:
            self.fields["email"].disabled = True  # what a browser sends of it does not count
            self.initial["email"] = invitation.email

    def try_save(self, request: HttpRequest) -> Any:
        """Make the account, or tell its owner that there is one already; both take as long."""
        if self.account_already_exists:
            make_password(self.cleaned_data["password1"])
        return super().try_save(request)


class TeamForm(forms.Form):
    """The name of a new team."""

    name = forms.CharField(
        label="Name of your team",
        max_length=_LONGEST_NAME,
        help_text="People whom you invite read it.",
        widget=forms.TextInput(attrs={"autocomplete": "organization", "autofocus": True}),
    )

    def clean_name(self) -> str:
        """The name, with single spaces. Mails quote it: it must not look like a link."""
        name = " ".join(str(self.cleaned_data["name"]).split())
        if "://" in name or "www." in name.lower() or "@" in name or not name.isprintable():
            raise forms.ValidationError(
                "A name holds no web address, no @ and only characters that can be seen."
            )
        return name
