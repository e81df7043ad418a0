"""Responses are found by model, key and state without reading all of a tenant's.

Each index begins with the tenant and ends with the id, so that it gives the newest first and a page at a time. They are
built while others write, and built anew where an earlier run was stopped in the middle of one.
"""

from typing import Any

from django.db import migrations, models

NOT_COMPLETED = ("queued", "in_progress", "incomplete", "failed", "cancelled")


def _built(index: Any, columns: str) -> migrations.SeparateDatabaseAndState:
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}"
    create = f"CREATE INDEX CONCURRENTLY {index.name} ON responses_api_response {columns}"
    return migrations.SeparateDatabaseAndState(
        database_operations=[migrations.RunSQL(sql=[drop, create], reverse_sql=[drop])],
        state_operations=[migrations.AddIndex(model_name="response", index=index)],
    )


class Migration(migrations.Migration):
    atomic = False  # an index cannot be built beside writers inside of a transaction

    dependencies = [("responses_api", "0015_find_responses")]

    operations = [
        _built(
            models.Index(fields=["tenant", "key_id", "-id"], name="response_by_key"),
            "(tenant_id, key_id, id DESC)",
        ),
        _built(
            models.Index(fields=["tenant", "model", "-id"], name="response_by_model"),
            "(tenant_id, model, id DESC)",
        ),
        _built(
            models.Index(
                condition=models.Q(("status__in", NOT_COMPLETED)),
                fields=["tenant", "status", "-id"],
                name="response_not_completed",
            ),
            f"(tenant_id, status, id DESC) WHERE status IN {NOT_COMPLETED}",
        ),
    ]
