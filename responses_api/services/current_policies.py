"""The tool policies in force at this moment: a call that the service runs is judged by them when it is run.

What travels with a job was in force when its request came in; a response may take long, and an operator who denies a
server means from now on.
"""

from uuid import UUID

from responses_api.protocol.policy import Policy
from responses_api.protocol.policy_reading import policies_of
from responses_api.services.database import in_database
from tenants.policies import policies_in_force
from tenants.scoping import tenant_scope


async def current_policies(tenant_id: UUID, key_id: UUID) -> tuple[Policy, ...]:
    """The policies of a tenant and of a key as the database has them now. Raises `ProtocolError` 503 where it does not
    answer: without them nothing may be run.
    """
    return await in_database(_read, tenant_id, key_id)


def _read(tenant_id: UUID, key_id: UUID) -> tuple[Policy, ...]:
    with tenant_scope(tenant_id):
        return policies_of(policies_in_force(tenant_id, key_id))
