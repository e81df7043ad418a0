"""The dry run: paste a request and see what the tool policies would let it call, and why. Nothing is stored or sent."""

import uuid
from contextlib import suppress
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.policy import Policy
from responses_api.protocol.policy_reading import PolicyError, read_policy
from responses_api.protocol.reading import read_json
from responses_api.services.trial import Trial, TrialError, try_request
from tenants.admin.base import is_operator, membership_of
from tenants.models import ApiKey, Tenant, ToolPolicy
from tenants.policy_versions import newest_version, policy_of

_EXAMPLE: Final = """{
  "model": "a-model",
  "input": "What is the weather in Paris?",
  "tools": [
    {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}},
    {"type": "function", "name": "send_mail", "parameters": {"type": "object", "properties": {}}}
  ]
}"""
_DRAFTS: Final = (
    ("", "no draft"),
    ("tenant", "instead of the tenant's policy"),
    ("key", "instead of the key's policy"),
)


class DryRunForm(forms.Form):
    """What is tried, and under which policies."""

    key = forms.ChoiceField(label="Key", required=False)
    tenant_version = forms.IntegerField(
        label="Version of the tenant's policy",
        required=False,
        min_value=1,
        help_text="Empty: the one in force.",
    )
    key_version = forms.IntegerField(
        label="Version of the key's policy", required=False, min_value=1, help_text="Empty: the one in force."
    )
    body = forms.CharField(
        label="Request body",
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
        help_text="The JSON that POST /v1/responses would get.",
        strip=False,
    )
    calls = forms.CharField(
        label="What the model would call",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="Names of functions, one a line, or tool calls as JSON. May be empty.",
    )
    draft_for = forms.ChoiceField(label="A draft", required=False, choices=_DRAFTS)
    draft = forms.CharField(
        label="The draft",
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        help_text='JSON like {"rules": [{"id": "no-mail", "effect": "deny", "tool": "*mail*"}]}.',
    )

    def __init__(self, tenant: Tenant, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tenant = tenant
        keys = ApiKey.objects.filter(tenant_id=tenant.id, revoked_at=None, purpose="app")
        shown = [(str(key.id), str(key)) for key in keys.order_by("name", "id")]
        self.fields["key"].choices = [("", "no key: the tenant's policy alone"), *shown]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Find the policies; what there is none of, or what cannot be read, stands at its field."""
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        key_id = uuid.UUID(cleaned["key"]) if cleaned["key"] else None
        found = [self._policy("tenant", None)]
        if key_id is not None or cleaned["draft_for"] == "key":
            found.append(self._policy("key", key_id))
        elif cleaned["key_version"]:
            self.add_error("key_version", "Choose the key whose policy is meant.")
        cleaned["policies"] = [policy for policy in found if policy is not None]
        return cleaned

    def _policy(self, of: str, key_id: uuid.UUID | None) -> Policy | None:
        """The draft, the version that was asked for, or the one in force; None where there is none."""
        if self.cleaned_data["draft_for"] == of:
            return self._draft(of)
        version = self.cleaned_data[f"{of}_version"]
        rows = ToolPolicy.objects.filter(tenant_id=self.tenant.id, key_id=key_id)
        row = rows.filter(version=version).first() if version else newest_version(self.tenant.id, key_id)
        if row is None and version:
            self.add_error(f"{of}_version", f"There is no version {version} of this policy.")
        try:
            return policy_of(row) if row is not None else None
        except PolicyError as error:
            self.add_error(f"{of}_version", f"This version cannot be read. {error}")
            return None

    def _draft(self, of: str) -> Policy | None:
        try:
            return read_policy(read_json(self.cleaned_data["draft"].encode(), "The draft"), of=of)
        except PolicyError as error:
            for _, sentence in error.faults:
                self.add_error("draft", sentence)
        except ProtocolError as error:
            self.add_error("draft", error.message)
        return None


@require_http_methods(["GET", "HEAD", "POST"])
def dry_run(request: HttpRequest) -> HttpResponse:
    """The page, for whoever may look at the tenant's policies."""
    tenant = _tenant(request)
    form, trial = None, None
    if tenant is not None and request.method == "POST":
        form = DryRunForm(tenant, request.POST)
        trial = _try(form) if form.is_valid() else None
    elif tenant is not None:
        form = DryRunForm(tenant, initial={"body": _EXAMPLE, "key": request.GET.get("key", "")})
    context = {
        **admin.site.each_context(request),
        "title": "Try a request",
        "tenant": tenant,
        "form": form,
        "trial": trial,
    }
    return TemplateResponse(
        request, "admin/tenants/toolpolicy/dry_run.html", context, headers={"Cache-Control": "no-store"}
    )


def _try(form: DryRunForm) -> Trial | None:
    given = form.cleaned_data
    try:
        return try_request(given["body"], given["policies"], given["calls"])
    except TrialError as error:
        form.add_error("body", str(error))
        return None


def _tenant(request: HttpRequest) -> Tenant | None:
    """Whose policies are tried: the person's tenant, or for the operator the one that the address names."""
    membership = membership_of(request)
    if membership is not None:
        own: Tenant = membership.tenant
        return own
    if not is_operator(request):
        raise PermissionDenied
    named = request.GET.get("tenant")
    if not named:
        return None
    found: Tenant | None = None
    with suppress(ValueError):
        found = Tenant.objects.filter(id=uuid.UUID(named)).first()
    if found is None:
        raise Http404
    return found
