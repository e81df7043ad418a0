"""What each request used and cost."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0009_tool_policies"),
    ]

    operations = [
        migrations.CreateModel(
            name="UsageRecord",
            fields=[
                (
                    "response_id",
                    models.CharField(
                        db_collation="C", editable=False, max_length=64, primary_key=True, serialize=False
                    ),
                ),
                ("key_id", models.UUIDField(verbose_name="key")),
                ("model", models.CharField(max_length=200)),
                ("backend", models.CharField(blank=True, max_length=64)),
                ("purpose", models.CharField(db_default="respond", default="respond", max_length=16)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("completed", "completed"),
                            ("incomplete", "incomplete"),
                            ("failed", "failed"),
                            ("cancelled", "cancelled"),
                        ],
                        max_length=16,
                    ),
                ),
                ("error_code", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("input_tokens", models.BigIntegerField(db_default=0, default=0)),
                (
                    "cached_tokens",
                    models.BigIntegerField(
                        db_default=0, default=0, help_text="Of the input, what the backend had cached."
                    ),
                ),
                ("output_tokens", models.BigIntegerField(db_default=0, default=0)),
                (
                    "reasoning_tokens",
                    models.BigIntegerField(
                        db_default=0, default=0, help_text="Of the output, what was reasoning."
                    ),
                ),
                ("is_estimated", models.BooleanField(db_default=False, default=False)),
                ("input_price", models.BigIntegerField(db_default=0, default=0)),
                ("cached_input_price", models.BigIntegerField(db_default=0, default=0)),
                ("output_price", models.BigIntegerField(db_default=0, default=0)),
                ("cost_nanos", models.BigIntegerField(db_default=0, default=0)),
                ("reserved_tokens", models.BigIntegerField(db_default=0, default=0)),
                ("reserved_nanos", models.BigIntegerField(db_default=0, default=0)),
                ("attempts", models.PositiveSmallIntegerField(db_default=1, default=1)),
                ("created_at", models.BigIntegerField(help_text="When the request was admitted.")),
                ("ended_at", models.BigIntegerField()),
                (
                    "first_event_ms",
                    models.PositiveIntegerField(
                        blank=True, help_text="Until the model's first word.", null=True
                    ),
                ),
                ("duration_ms", models.PositiveIntegerField(blank=True, null=True)),
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
                "ordering": ("-created_at",),
                "indexes": [models.Index(fields=["tenant", "created_at"], name="usage_by_tenant_and_time")],
            },
        ),
    ]
