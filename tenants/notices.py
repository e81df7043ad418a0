"""What a tenant's owners are told by e-mail."""

import uuid

from django.core.mail import EmailMessage

from tenants.mail import MailFailed, deliver
from tenants.models import Membership, Tenant
from tenants.models.membership import OWNER
from tenants.scoping import tenant_scope


def tell_owners(tenant_id: uuid.UUID, subject: str, text: str) -> int:
    """Send the owners of a tenant an e-mail; returns how many are told. A mail server that does not take it is noted in
    the log and no error: what is told stands in the audit log, too.
    """
    with tenant_scope(tenant_id):
        tenant = Tenant.objects.filter(id=tenant_id).first()
        owners = Membership.objects.filter(tenant_id=tenant_id, role=OWNER, user__is_active=True)
        addresses = [address for address in owners.values_list("user__email", flat=True) if address]
    if tenant is None or not addresses:
        return 0
    try:
        # One each: nobody needs to learn the others' addresses.
        for address in addresses:
            deliver(EmailMessage(f"{subject}: {tenant.name}", text, to=[address]))
    except MailFailed:
        return 0  # the log has it
    return len(addresses)
