"""Reading chains as a process does that remembers what it has read."""

from responses_api import chains
from responses_api.protocol.plain import Json
from tenants.models import Tenant
from tenants.scoping import tenant_scope


def load(tenant: Tenant, response_id: str) -> list[Json]:
    """The context of a response of this tenant."""
    with tenant_scope(tenant.id):
        return chains.load_context(response_id)
