"""The form of a backend: its key goes in and never comes out, its lists are written one entry a line."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from django import forms

from responses_api.models import Backend
from responses_api.models.backend import NATIVE_FEATURES
from responses_api.models.backend_rules import (
    ANOTHER_SERVER,
    TWO_KEYS,
    UNSENDABLE_KEY,
    each_once,
    is_sendable,
)
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.reading import read_json
from responses_api.services.backend_keys import is_for
from tenants.admin.base import ModelForm
from tenants.admin.key_forms import Lines

if TYPE_CHECKING:
    from django.forms import CheckboxInput, CheckboxSelectMultiple, PasswordInput, Textarea
else:
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxSelectMultiple
    from unfold.widgets import UnfoldAdminPasswordWidget as PasswordInput
    from unfold.widgets import UnfoldAdminTextareaWidget as Textarea
    from unfold.widgets import UnfoldBooleanWidget as CheckboxInput

_LONGEST_KEY: Final = 4096


def _lines(label: str, help_text: str) -> Lines:
    check: Callable[[list[str]], list[str]] = each_once  # what an entry may be, the row's own rules say
    return Lines(check, label=label, help_text=help_text)


class Options(forms.CharField):
    """Default options as they are written: a JSON object, or nothing. What they may be, the row's own rules say."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, widget=Textarea(attrs={"rows": 4, "spellcheck": "false"}), **options)

    def prepare_value(self, value: Any) -> Any:
        """The object as it is edited."""
        if isinstance(value, dict):
            return json.dumps(value, indent=2, ensure_ascii=False) if value else ""
        return value

    def clean(self, value: Any) -> Any:
        """What was written. Raises ValidationError where it is no JSON."""
        text: str = super().clean(value)
        try:
            return read_json(text.encode(), "This") if text else {}
        except (ProtocolError, UnicodeEncodeError) as error:
            raise forms.ValidationError(str(error)) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether they are others, however they are written."""
        try:
            return bool(self.clean(data) != (initial or {}))
        except forms.ValidationError:
            return True


class BackendForm(ModelForm):
    """A backend's fields, and a key to store with it."""

    api_key = forms.CharField(
        label="API key",
        required=False,
        max_length=_LONGEST_KEY,
        widget=PasswordInput(attrs={"autocomplete": "new-password", "spellcheck": "false"}),
        help_text="Stored encrypted, and never shown again. Empty: the key that is stored stays.",
    )
    remove_key = forms.BooleanField(label="Remove the stored key", required=False, widget=CheckboxInput)
    native_features = forms.MultipleChoiceField(
        label="Has of its own",
        required=False,
        choices=[(name, f"{name}: {what}") for name, what in NATIVE_FEATURES],
        widget=CheckboxSelectMultiple,
        help_text="What is marked is used; the rest is done here.",
    )
    passthrough_tool_types = _lines(
        "Types of tools",
        "What it runs or knows by itself, one a line: web_search, acme:search, acme:* for all of a vendor's. Tools of "
        "other types are refused.",
    )
    allowed_options = _lines(
        "Backend options",
        "Fields of its own that a request may set by antiphon:backend_options, one a line; * is any. Tool policies can "
        "take them away from a tenant or a key. Empty: none.",
    )

    default_options = Options(
        label="Default options",
        help_text='A JSON object of fields of its own that every call for an answer carries: {"top_k": 40}. A request '
        "that may set one of them by antiphon:backend_options sets it for itself. Empty: none.",
    )

    class Meta:
        model = Backend
        fields = ("name",)  # the rest, as the page names it

    def clean(self) -> dict[str, Any]:
        """Refuse a key beside another one. The stored key goes here, where it is to go."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned.get("remove_key"):
            self.instance.sealed_key = ""
        if cleaned.get("api_key"):
            self._check_key(cleaned)
        elif self.instance.sealed_key and not is_for(self.instance, cleaned.get("base_url", "")):
            self.add_error("api_key", ANOTHER_SERVER)
        return cleaned

    def _check_key(self, cleaned: dict[str, Any]) -> None:
        if not is_sendable(cleaned["api_key"]):
            self.add_error("api_key", UNSENDABLE_KEY)
        elif cleaned.get("remove_key"):
            self.add_error("remove_key", "Either store another key or remove the one that is stored.")
        elif cleaned.get("api_key_env"):
            self.add_error("api_key", TWO_KEYS)
