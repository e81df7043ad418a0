"""The forms of keys: their rules, and for how long a key that is replaced goes on."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.utils import timezone

from tenants.admin.base import ModelForm
from tenants.models import ApiKey
from tenants.models.key import OPERATOR_SCOPES, SCOPES, all_scopes
from tenants.rules import BadRule, checked_addresses, checked_models

if TYPE_CHECKING:
    from django.forms import CheckboxSelectMultiple, Select, Textarea
else:
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as CheckboxSelectMultiple
    from unfold.widgets import UnfoldAdminSelectWidget as Select
    from unfold.widgets import UnfoldAdminTextareaWidget as Textarea

_HOUR: Final = timedelta(hours=1)
_GRACES: Final = (
    ("0", "none: the old key is refused at once"),
    ("1", "an hour"),
    ("24", "a day"),
    ("168", "a week"),
    ("720", "30 days"),
)


class Lines(forms.CharField):
    """A list with one entry a line (or separated by commas), checked and put in order by `check`."""

    def __init__(self, check: Callable[[list[str]], list[str]], **options: Any) -> None:
        super().__init__(required=False, widget=Textarea(attrs={"rows": 3, "spellcheck": "false"}), **options)
        self._check = check

    def prepare_value(self, value: Any) -> Any:
        """The list as it is edited."""
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def clean(self, value: Any) -> Any:
        """The list. Raises ValidationError naming the entry that is wrong."""
        text: str = super().clean(value)
        try:
            return self._check(
                [entry.strip() for entry in text.replace(",", "\n").splitlines() if entry.strip()]
            )
        except BadRule as error:
            raise forms.ValidationError(str(error)) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether the list is another one."""
        return super().has_changed(self.prepare_value(initial), data)


class KeyForm(ModelForm):
    """A key's name and rules. Its text is none of them."""

    scopes = forms.MultipleChoiceField(
        choices=[(scope, f"{scope}: {what}") for scope, what in SCOPES],
        widget=CheckboxSelectMultiple,
        initial=all_scopes,
        help_text="What the key may do.",
    )
    allowed_models = Lines(
        checked_models,
        label="Models",
        help_text="Names of models that the key may ask, one a line; * stands for any letters. Empty: all models.",
    )
    allowed_addresses = Lines(
        checked_addresses,
        label="Addresses",
        help_text="Addresses or networks that the key may be used from, one a line: 192.0.2.7, 192.0.2.0/24, "
        "2001:db8::/32. Empty: from everywhere.",
    )

    class Meta:
        model = ApiKey
        fields = ("name", "expires_at", "dialect", "unserved_tools")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # What only the operator gives can be kept and taken away here, and not given.
        held = [(scope, what) for scope, what in OPERATOR_SCOPES if scope in (self.instance.scopes or ())]
        if held and "scopes" in self.fields:
            shown = [(scope, f"{scope}: {what}") for scope, what in (*SCOPES, *held)]
            self.fields["scopes"].choices = shown  # type: ignore[attr-defined]

    def clean_expires_at(self) -> datetime | None:
        """The end, which is to come."""
        end: datetime | None = self.cleaned_data["expires_at"]
        if end is not None and "expires_at" in self.changed_data and end <= timezone.now():
            raise forms.ValidationError("The end must be in the future (UTC). To end a key now, revoke it.")
        return end


class RotateForm(forms.Form):
    """How long the old key works beside the one that replaces it."""

    hours = forms.ChoiceField(
        choices=_GRACES, initial="24", label="Grace period of the old key", widget=Select
    )

    @property
    def grace(self) -> timedelta:
        """The choice."""
        return int(self.cleaned_data["hours"]) * _HOUR
