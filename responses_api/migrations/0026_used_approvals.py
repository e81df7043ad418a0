"""Approvals of tool calls that were used, each once; seen in the scope of their tenant only."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import responses_api.models.fields
from tenants.scoping import row_level_security


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0025_backend_media_urls"),
        ("tenants", "0018_file_scopes"),
    ]

    operations = [
        migrations.CreateModel(
            name="UsedApproval",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("approval_request_id", models.CharField(db_collation="C", max_length=128)),
                ("response_id", responses_api.models.fields.PublicIdField()),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["tenant", "created_at"], name="approval_by_age")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "approval_request_id"), name="approval_used_once"
                    )
                ],
            },
        ),
        row_level_security("responses_api_usedapproval"),
    ]
