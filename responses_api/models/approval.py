"""Which approvals of calls of MCP servers' tools were used, and by which response."""

from django.db import models
from django.db.models.functions import Now

from responses_api.models.fields import PublicIdField
from tenants.scoping import ScopedManager

LONGEST_ID = 128


class UsedApproval(models.Model):
    """An approved call that was run, or was about to be: it is not run again. Ids only."""

    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
    # The client's own word for the request, which need not be an id of ours.
    approval_request_id = models.CharField(max_length=LONGEST_ID, db_collation="C")
    response_id = PublicIdField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = ScopedManager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "approval_request_id"), name="approval_used_once"),
        )
        indexes = (models.Index(fields=("tenant", "created_at"), name="approval_by_age"),)

    def __str__(self) -> str:
        return self.approval_request_id
