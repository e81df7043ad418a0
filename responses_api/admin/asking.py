"""The form above the list of responses: what it takes, and the question that it means.

What it offers to choose from never comes from the responses: there are too many.
"""

import re
import uuid
from datetime import UTC, datetime
from typing import Any, Final

from django import forms
from django.http import HttpRequest, QueryDict

from responses_api.models import Route
from responses_api.models.fields import is_id
from responses_api.models.response import STATUSES
from responses_api.services.browse import WHOLE_ID, Question, responses_of_items
from tenants.admin.base import is_operator
from tenants.models import ApiKey, Tenant

BEFORE: Final = "before"
AFTER: Final = "after"

_MOST_CHOICES: Final = 200
_MOST_ITEMS: Final = 200
_RESPONSE: Final = re.compile(r"resp_[A-Za-z0-9_-]*")
# An item's id up to its milliseconds: what is shorter would begin the ids of half the items that there are.
_ITEM: Final = re.compile(r"[a-z]{2,8}_[0-9a-f]{12}[A-Za-z0-9_-]*")
_TIMES: Final = ("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d")


class QuestionForm(forms.Form):
    """What responses are asked for. Times are in UTC."""

    q = forms.CharField(
        label="Id",
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs={"placeholder": "resp_… or an item's, whole or its beginning"}),
    )
    status = forms.ChoiceField(label="Status", required=False)
    model = forms.CharField(
        label="Model", required=False, max_length=200, widget=forms.TextInput(attrs={"list": "models-served"})
    )
    key = forms.UUIDField(label="Key", required=False)
    tenant = forms.UUIDField(label="Tenant", required=False)
    since = forms.DateTimeField(label="From (UTC)", required=False, input_formats=_TIMES)
    until = forms.DateTimeField(label="Until (UTC)", required=False, input_formats=_TIMES)
    name = forms.CharField(
        label="Metadata name", required=False, max_length=64, strip=False, widget=forms.TextInput
    )
    value = forms.CharField(
        label="Metadata value", required=False, max_length=512, strip=False, widget=forms.TextInput
    )

    def __init__(self, data: QueryDict, request: HttpRequest) -> None:
        super().__init__(data)
        fields: dict[str, Any] = self.fields
        fields["status"].choices = [("", "any"), *STATUSES]
        for name in ("since", "until"):
            fields[name].widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_TIMES[0])
        tenant_id = _uuid(data.get("tenant"))
        if is_operator(request):
            fields["tenant"].widget = forms.Select(choices=_tenants(tenant_id))
        else:
            del fields["tenant"]
        fields["key"].widget = forms.Select(
            choices=_keys(_uuid(data.get("key")), tenant_id, is_operator(request))
        )
        self.models = _models()

    def clean_q(self) -> str:
        """An id, or how one begins."""
        term: str = self.cleaned_data["q"].strip()
        if term and not (_RESPONSE.fullmatch(term) or _ITEM.fullmatch(term)):
            raise forms.ValidationError(
                "Give a response's id, whole or how it begins (resp_…), or an item's with its first twelve digits."
            )
        return term

    def clean(self) -> dict[str, Any]:
        """A metadata pair has both halves, a time its end after its beginning."""
        told = self.cleaned_data
        if bool(told.get("name")) != bool(told.get("value")):
            missing = "value" if told.get("name") else "name"
            self.add_error(missing, "Metadata is found by name and value; give both.")
        since, until = told.get("since"), told.get("until")
        if since and until and since >= until:
            self.add_error("until", "The end must be later than the beginning.")
        return told

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is asked for but the newest."""
        return any(self.data.get(name) for name in self.fields)

    def question(self) -> Question | None:
        """What is asked for; None where the form says what is wrong with it."""
        if not self.is_valid():
            return None
        told = self.cleaned_data
        return Question(
            tenant_id=told.get("tenant"),
            status=told["status"],
            model=told["model"],
            key_id=told["key"],
            metadata=(told["name"], told["value"]) if told["name"] else None,
            since_ms=_milliseconds(told["since"]),
            until_ms=_milliseconds(told["until"]),
            before=_anchor(self.data, BEFORE),
            after=_anchor(self.data, AFTER),
            **_by_id(told["q"]),
        )


def _by_id(term: str) -> dict[str, Any]:
    if not term:
        return {}
    if not term.startswith("resp_"):
        return {"among": responses_of_items(term, _MOST_ITEMS)}
    return {"chained_to": term} if len(term) >= WHOLE_ID else {"beginning": term}


def _anchor(data: Any, name: str) -> str:
    value = str(data.get(name) or "")
    return value if is_id(value) else ""


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.replace(tzinfo=UTC).timestamp() * 1000)


def _uuid(text: str | None) -> uuid.UUID | None:
    try:
        return uuid.UUID(text or "")
    except ValueError:
        return None


def _models() -> list[str]:
    """The names that are served now, to choose from; any other can be typed."""
    served = Route.objects.order_by("model").values_list("model", flat=True).distinct()
    return list(served[:_MOST_CHOICES])


def _tenants(chosen: uuid.UUID | None) -> list[tuple[str, str]]:
    """The first tenants by name, and the chosen one."""
    first = dict(Tenant.objects.order_by("name").values_list("id", "name")[:_MOST_CHOICES])
    if chosen is not None and chosen not in first:
        first[chosen] = str(chosen)
    return [("", "all"), *((str(tenant_id), name) for tenant_id, name in first.items())]


def _keys(
    chosen: uuid.UUID | None, tenant_id: uuid.UUID | None, is_for_operator: bool
) -> list[tuple[str, str]]:
    """The tenant's newest keys, and the chosen one. The operator chooses a tenant first."""
    keys = ApiKey.objects.order_by("-created_at")
    if is_for_operator and not (tenant_id or chosen):
        return [("", "choose a tenant first")]
    if is_for_operator:
        keys = keys.filter(tenant_id=tenant_id) if tenant_id else keys.filter(id=chosen)
    found = {key.id: str(key) for key in keys[:_MOST_CHOICES]}
    if chosen is not None and chosen not in found:
        found[chosen] = str(chosen)
    return [("", "any"), *((str(key_id), name) for key_id, name in found.items())]
