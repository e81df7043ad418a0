"""Tool policies: what is in force, what it was before, who changed it, and the form that makes the next version."""

import uuid
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from responses_api.protocol.policy import Policy
from responses_api.protocol.policy_reading import PolicyError
from responses_api.protocol.policy_words import rule_in_words, settings_in_words
from tenants.admin.base import ScopedAdmin, is_operator, may_change, may_look, membership_of, show_time
from tenants.admin.policy_forms import PolicyForm, with_base, with_more_rows
from tenants.audit import name_of
from tenants.models import ApiKey, Tenant, ToolPolicy
from tenants.policy_versions import PolicyMoved, changes_between, newest_version, policy_of, save_version

_PAGE: Final = 50
_MOST_KEYS: Final = 200
_TEMPLATES: Final = "admin/tenants/toolpolicy"


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose policy it is: a tenant's, or with `key` that key's."""

    tenant: Tenant
    key: ApiKey | None

    @property
    def name(self) -> str:
        """The subject in a heading."""
        return f"key {self.key.name}" if self.key else self.tenant.name

    def url(self, page: str = "") -> str:
        """The address of one of its pages: the policy itself, `edit` or `restore`."""
        kind = "key" if self.key else "tenant"
        ids = [self.tenant.id, self.key.id] if self.key else [self.tenant.id]
        return reverse(f"admin:tenants_toolpolicy_{kind}{f'_{page}' if page else ''}", args=ids)


@dataclass(frozen=True, slots=True)
class Shown:
    """A version, as its page shows it; `fault` says why one cannot be read."""

    row: ToolPolicy
    when: str | None
    who: str
    rules: list[tuple[str, str]]
    settings: list[str]
    changes: list[str]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A key in the list below its tenant's policy."""

    name: str
    hint: str
    url: str
    state: str


@admin.register(ToolPolicy)
class ToolPolicyAdmin(ScopedAdmin):
    """The pages of the policies of a tenant and of its keys. Versions are neither changed nor deleted."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never by Django's own form."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never: responses name the version that decided about their calls."""
        return False

    def get_urls(self) -> list[URLPattern]:
        """The pages of a tenant's policy and of a key's, before Django's own."""
        mine = []
        for kind, place in (
            ("tenant", "of/<uuid:tenant_id>/"),
            ("key", "of/<uuid:tenant_id>/<uuid:key_id>/"),
        ):
            for page, view in (("", self.show), ("edit", self.edit), ("restore", require_POST(self.restore))):
                name = f"tenants_toolpolicy_{kind}{f'_{page}' if page else ''}"
                address = f"{place}{page}/" if page else place
                mine.append(path(address, self.admin_site.admin_view(view), name=name))
        return [*mine, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The operator chooses a tenant; everybody else comes to theirs."""
        membership = membership_of(request)
        if membership is not None:
            return HttpResponseRedirect(Subject(membership.tenant, None).url())
        if not is_operator(request):
            raise PermissionDenied
        wanted = request.GET.get("q", "").strip()
        tenants = Tenant.objects.filter(name__icontains=wanted).order_by("name", "id")
        page = Paginator(tenants, _PAGE).get_page(request.GET.get("p"))
        in_force = _newest_of_tenants([tenant.id for tenant in page])
        rows = [
            (tenant.name, Subject(tenant, None).url(), _state(in_force.get(tenant.id))) for tenant in page
        ]
        context = {"title": "Tool policies", "rows": rows, "page": page, "wanted": wanted}
        return self._page(request, "tenants", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """A version's address leads to the policy that it is of."""
        try:
            found = self.get_queryset(request).filter(id=uuid.UUID(object_id)).first()
        except ValueError:
            found = None
        if found is None:
            raise Http404
        return HttpResponseRedirect(Subject(found.tenant, found.key).url())

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """The history is a part of the policy's page."""
        return self.change_view(request, object_id)

    def show(
        self, request: HttpRequest, tenant_id: uuid.UUID, key_id: uuid.UUID | None = None
    ) -> HttpResponse:
        """The policy in force, in words, and its history."""
        subject = _subject(request, tenant_id, key_id)
        versions = list(_versions(subject, request.GET.get("before"))[: _PAGE + 1])
        newest = newest_version(subject.tenant.id, key_id)
        context = {
            "title": f"Tool policy of {subject.name}",
            "subject": subject,
            "edit_url": subject.url("edit"),
            "restore_url": subject.url("restore"),
            "tenant_url": Subject(subject.tenant, None).url(),
            "newest": _shown(newest, None) if newest else None,
            "history": _history(versions[:_PAGE], versions[1:]),
            "older": versions[_PAGE - 1].version if len(versions) > _PAGE else None,
            "keys": [] if key_id else _keys(subject.tenant),
            "may_change": may_change(request),
        }
        return self._page(request, "policy", context)

    def edit(
        self, request: HttpRequest, tenant_id: uuid.UUID, key_id: uuid.UUID | None = None
    ) -> HttpResponse:
        """The form. What it saves is a new version."""
        subject = _subject(request, tenant_id, key_id, to_change=True)
        newest = newest_version(tenant_id, key_id)
        moved: Shown | None = None
        if request.method != "POST":
            form = PolicyForm(_readable(newest), newest.version if newest else 0)
        elif "more" in request.POST:
            form = PolicyForm(data=with_more_rows(request.POST))
        else:
            form = PolicyForm(data=request.POST)
            if form.is_valid() and form.policy is not None:
                try:
                    return self._save(request, subject, form.policy, form.based_on)
                except PolicyMoved as error:
                    moved = _shown(error.newest, None) if error.newest else None
                    version = error.newest.version if error.newest else 0
                    form = PolicyForm(data=with_base(request.POST, version))
                    form.is_valid()
        context = {
            "title": f"Change the tool policy of {subject.name}",
            "subject": subject,
            "back_url": subject.url(),
            "form": form,
            "moved": moved,
            "next_version": (newest.version if newest else 0) + 1,
        }
        return self._page(request, "edit", context)

    def restore(
        self, request: HttpRequest, tenant_id: uuid.UUID, key_id: uuid.UUID | None = None
    ) -> HttpResponse:
        """Make the next version of what an older one says."""
        subject = _subject(request, tenant_id, key_id, to_change=True)
        try:
            number, based_on = int(request.POST["version"]), int(request.POST["based_on"])
        except (KeyError, ValueError):
            raise Http404 from None
        old = ToolPolicy.objects.filter(tenant_id=tenant_id, key_id=key_id, version=number).first()
        if old is None:
            raise Http404
        try:
            return self._save(request, subject, policy_of(old), based_on, restored=number)
        except PolicyMoved:
            told = "Somebody has changed this policy meanwhile; nothing was restored. Look at what is in force now."
        except PolicyError:
            told = f"Version {number} cannot be read and was not restored."
        self.message_user(request, told, messages.ERROR)
        return HttpResponseRedirect(subject.url())

    def _save(
        self, request: HttpRequest, subject: Subject, policy: Policy, based_on: int, **details: Any
    ) -> HttpResponse:
        made = save_version(
            tenant=subject.tenant,
            key=subject.key,
            policy=policy,
            based_on=based_on,
            user=request.user,
            action="policy.restored" if details else "policy.changed",
            **details,
        )
        self.message_user(
            request, f"Version {made.version} is in force for every request from now on.", messages.SUCCESS
        )
        return HttpResponseRedirect(subject.url())

    def _page(self, request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
        full = {**self.admin_site.each_context(request), "opts": self.opts, **context}
        return TemplateResponse(request, f"{_TEMPLATES}/{name}.html", full)


def _subject(
    request: HttpRequest, tenant_id: uuid.UUID, key_id: uuid.UUID | None, *, to_change: bool = False
) -> Subject:
    """Whose policy a page is about. What is somebody else's is not there, for whoever may look at all."""
    if not (may_change(request) if to_change else may_look(request)):
        raise PermissionDenied
    membership = membership_of(request)
    if membership is not None and membership.tenant_id != tenant_id:
        raise Http404
    tenant = Tenant.objects.filter(id=tenant_id).first()
    key = ApiKey.objects.filter(id=key_id, tenant_id=tenant_id).first() if key_id else None
    if tenant is None or (key_id and key is None):
        raise Http404
    return Subject(tenant, key)


def _versions(subject: Subject, before: str | None) -> Any:
    """The versions, newest first, those before a number where one is given."""
    key_id = subject.key.id if subject.key else None
    versions = ToolPolicy.objects.filter(tenant_id=subject.tenant.id, key_id=key_id).order_by("-version")
    if before and before.isdecimal():
        versions = versions.filter(version__lt=min(int(before), 2**31 - 1))
    return versions.select_related("created_by")


def _history(versions: list[ToolPolicy], olders: list[ToolPolicy]) -> list[Shown]:
    """Each version beside the one before it."""
    return [_shown(row, olders[place] if place < len(olders) else None) for place, row in enumerate(versions)]


def _shown(row: ToolPolicy, before: ToolPolicy | None) -> Shown:
    who = row.created_by
    name = name_of(who) if who is not None else "manage.py, or somebody who is gone"
    try:
        policy = policy_of(row)
        changes = changes_between(before, row)
    except PolicyError as error:
        return Shown(row, show_time(row.created_at), name, [], [], [], fault=str(error))
    rules = [(rule.id, rule_in_words(rule)) for rule in policy.rules]
    return Shown(row, show_time(row.created_at), name, rules, settings_in_words(policy), changes)


def _readable(row: ToolPolicy | None) -> Policy | None:
    try:
        return policy_of(row) if row is not None else None
    except PolicyError:
        return None


def _newest_of_tenants(ids: list[uuid.UUID]) -> dict[uuid.UUID, ToolPolicy]:
    rows = ToolPolicy.objects.filter(tenant_id__in=ids, key=None).order_by("tenant_id", "-version")
    return {row.tenant_id: row for row in rows.distinct("tenant_id")}


def _keys(tenant: Tenant) -> list[ShownKey]:
    """The working keys of a tenant, each with what is known of its policy."""
    keys = list(
        ApiKey.objects.filter(tenant_id=tenant.id, revoked_at=None, purpose="app").order_by("name", "id")[
            :_MOST_KEYS
        ]
    )
    rows = ToolPolicy.objects.filter(key_id__in=[key.id for key in keys]).order_by("key_id", "-version")
    in_force = {row.key_id: row for row in rows.distinct("key_id")}
    return [
        ShownKey(
            key.name,
            key.hint,
            Subject(tenant, key).url(),
            _state(in_force.get(key.id)),
        )
        for key in keys
    ]


def _state(row: ToolPolicy | None) -> str:
    if row is None:
        return "no policy of its own"
    count = len(row.rules)
    default = "allowed" if row.default_effect == "allow" else "denied"
    return f"version {row.version}, {count} {'rule' if count == 1 else 'rules'}, the rest {default}"
