"""The pages of tool policies as a browser asks for them."""

import re
from typing import Any

from tenants.models import ApiKey, Tenant, ToolPolicy
from tenants.scoping import tenant_scope

POLICIES = "/admin/tenants/toolpolicy/"
TRY = "/admin/policies/try/"
NO_MAIL = {"tool": "*mail*", "id": "no-mail", "kind": "function"}


def page_of(tenant: Tenant, key: ApiKey | None = None, page: str = "") -> str:
    """The address of a policy, or of a page of it."""
    return f"{POLICIES}of/{tenant.id}/{f'{key.id}/' if key else ''}{page}"


def form(*rules: dict[str, Any], based_on: int = 0, **settings: Any) -> dict[str, Any]:
    """What a browser posts: the rules as rows, in the order given."""
    posted: dict[str, Any] = {
        "default_effect": "allow",
        "on_violation": "suppress",
        "max_tool_calls": "",
        "hosted_tools": "on",
        "based_on": based_on,
        "rules-TOTAL_FORMS": len(rules) + 1,
        "rules-INITIAL_FORMS": 0,
        **settings,
    }
    blank = {"effect": "deny", "kind": "any", "tool": "", "server": "", "models": "", "id": "", "ORDER": ""}
    for index, rule in enumerate([*rules, {}]):
        row = {**blank, **({"ORDER": index + 1} if rule else {}), **rule}
        posted.update({f"rules-{index}-{name}": value for name, value in row.items()})
    return {name: value for name, value in posted.items() if value is not None}


def versions(tenant: Tenant, key: ApiKey | None = None) -> list[ToolPolicy]:
    """All versions of a policy, the oldest first."""
    with tenant_scope(tenant.id):
        return list(ToolPolicy.objects.filter(key=key).order_by("version"))


def text_of(answer: Any) -> str:
    """A page as it is read."""
    return re.sub(r"\s+", " ", answer.content.decode().replace("&#x27;", "'"))
