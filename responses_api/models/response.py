"""A stored response and its items.

A response keeps only its own new input items and its output items; a chain is followed by `previous_id`, nothing is
copied. Ids are time-ordered, so the primary keys append. `tenant_id` stands on every row and begins every other index.
"""

from typing import Any, Final

from django.db import models
from django.db.models import Q

from responses_api.models.fields import PlainJsonField, PublicIdField
from tenants.scoping import ScopedManager

STATUSES: Final = (
    ("queued", "queued"),
    ("in_progress", "in progress"),
    ("completed", "completed"),
    ("incomplete", "incomplete"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
)


UNFINISHED: Final = ("queued", "in_progress")
"""The states of a background response that has still to end; no other one has a row before its end."""

NOT_COMPLETED: Final = tuple(status for status, _ in STATUSES if status != "completed")
"""The states that few responses are in, so that an index finds them."""


class Response(models.Model):
    """One response: its settings as the client sent them (`request`) and how it ended."""

    id = PublicIdField(primary_key=True, editable=False)
    # No foreign key constraint: it would lock the tenant's row once for every response. Deleting a tenant deletes these
    # rows through Django, and row-level security keeps a stray value out of everybody's sight.
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
    key_id = models.UUIDField("key", help_text="The API key that asked.")
    previous_id = models.CharField(
        "previous response", max_length=64, db_collation="C", null=True, blank=True
    )
    root_id = models.CharField(
        "first response of the chain",
        max_length=64,
        db_collation="C",
        null=True,
        blank=True,
        editable=False,
        help_text="Empty where it is not known.",
    )
    # Counted by a trigger (migration 0007), so that nobody who deletes can forget it.
    deletions = models.PositiveIntegerField(
        default=0,
        db_default=0,
        editable=False,
        help_text="How many responses after this first one of a chain were deleted.",
    )
    status = models.CharField(max_length=16, choices=STATUSES)
    model = models.CharField(max_length=200)
    backend = models.CharField(max_length=64, blank=True)
    request = PlainJsonField(help_text="The settings of the request, without its input.")
    usage = PlainJsonField(null=True, blank=True)
    error = PlainJsonField(null=True, blank=True)
    incomplete_details = PlainJsonField(null=True, blank=True)
    extensions = PlainJsonField(
        null=True, blank=True, help_text="Fields of the response with a vendor's prefix."
    )
    policy_decisions = PlainJsonField(
        null=True,
        blank=True,
        editable=False,
        help_text="Which rule of which tool policy let or refused each call: see protocol/policy.py.",
    )
    tried = PlainJsonField(
        null=True,
        blank=True,
        editable=False,
        help_text="The backends that could not answer, before the one that did, and why.",
    )
    created_at = models.BigIntegerField(help_text="Unix time in seconds.")
    completed_at = models.BigIntegerField(null=True, blank=True, help_text="Unix time in seconds.")
    attempt = models.PositiveSmallIntegerField(
        default=0, db_default=0, editable=False, help_text="How many workers had it before."
    )
    is_followed = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Somebody may have seen some of its stream.",
    )
    score = PlainJsonField(
        null=True, blank=True, editable=False, help_text="How its stream was cut: see protocol/score.py."
    )

    objects = ScopedManager()

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("tenant", "-id"), name="response_by_tenant"),
            models.Index(
                fields=("tenant", "previous_id"),
                condition=Q(previous_id__isnull=False),
                name="response_by_previous",
            ),
            models.Index(fields=("id",), condition=Q(status__in=UNFINISHED), name="response_unfinished"),
            models.Index(fields=("tenant", "key_id", "-id"), name="response_by_key"),
            models.Index(fields=("tenant", "model", "-id"), name="response_by_model"),
            models.Index(
                fields=("tenant", "status", "-id"),
                condition=Q(status__in=NOT_COMPLETED),
                name="response_not_completed",
            ),
        )

    def __str__(self) -> str:
        return self.id


class Item(models.Model):
    """One item of a response: of its own new input or of its output. `data` is the item as the API shows it."""

    id = PublicIdField(primary_key=True, editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+"
    )
    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="items", db_index=False)
    position = models.PositiveIntegerField(
        help_text="Counts the response's input items, then its output items."
    )
    is_output = models.BooleanField("output")
    data = PlainJsonField()

    objects = ScopedManager()

    class Meta:
        ordering = ("response", "position")
        constraints = (
            # Begins with the response, not the tenant: deleting a response looks its items up by this index.
            models.UniqueConstraint(fields=("response", "position"), name="item_once_per_position"),
        )

    def __str__(self) -> str:
        return self.id

    @property
    def type(self) -> Any:
        """The item's type, e.g. `message` or `function_call`."""
        return self.data.get("type")
