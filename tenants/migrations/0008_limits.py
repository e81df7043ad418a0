"""What a tenant, a key or a model may use up."""

import uuid

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0007_members"),
    ]

    operations = [
        migrations.CreateModel(
            name="Limit",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "model",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The model that is limited. Empty: all together.",
                        max_length=200,
                    ),
                ),
                (
                    "metric",
                    models.CharField(
                        choices=[
                            ("requests_per_minute", "requests per minute"),
                            ("tokens_per_minute", "tokens per minute"),
                            ("concurrent_responses", "responses at the same time"),
                            ("tokens_per_day", "tokens per day (UTC)"),
                            ("tokens_per_month", "tokens per month (UTC)"),
                            ("cost_per_day", "cost per day (UTC)"),
                            ("cost_per_month", "cost per month (UTC)"),
                        ],
                        max_length=32,
                    ),
                ),
                ("amount", models.BigIntegerField(validators=[django.core.validators.MinValueValidator(0)])),
                ("is_hard", models.BooleanField(db_default=True, default=True, verbose_name="hard")),
                (
                    "set_by",
                    models.CharField(
                        choices=[("operator", "the operator"), ("tenant", "the tenant")],
                        db_default="tenant",
                        default="tenant",
                        max_length=16,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        help_text="The key that is limited. Empty: all keys of the tenant together.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="limits",
                        to="tenants.apikey",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="limits",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "ordering": ("tenant", "metric", "model"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("key", None)),
                        fields=("tenant", "model", "metric", "is_hard", "set_by"),
                        name="limit_of_tenant_once",
                        violation_error_message="There is such a limit already; change that one.",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("key__isnull", False)),
                        fields=("key", "model", "metric", "is_hard", "set_by"),
                        name="limit_of_key_once",
                        violation_error_message="There is such a limit already; change that one.",
                    ),
                ],
            },
        ),
    ]
