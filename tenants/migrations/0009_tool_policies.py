"""Which tools may be called."""

import uuid

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("tenants", "0008_limits"),
    ]

    operations = [
        migrations.CreateModel(
            name="ToolPolicy",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("version", models.PositiveIntegerField(editable=False)),
                ("rules", models.JSONField(blank=True, default=list)),
                (
                    "default_effect",
                    models.CharField(
                        choices=[("allow", "allowed"), ("deny", "denied")],
                        db_default="allow",
                        default="allow",
                        help_text="What becomes of a call that no rule speaks of.",
                        max_length=8,
                    ),
                ),
                (
                    "hosted_tools",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Whether tools that this server runs may be used at all.",
                    ),
                ),
                (
                    "on_violation",
                    models.CharField(
                        choices=[
                            ("suppress", "the call is left out and the response goes on"),
                            ("fail", "the response fails"),
                        ],
                        db_default="fail",
                        default="fail",
                        max_length=16,
                    ),
                ),
                (
                    "max_tool_calls",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="The most calls that one response may make. Empty: any number.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="policies",
                        to="tenants.apikey",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="policies",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "verbose_name": "tool policy",
                "verbose_name_plural": "tool policies",
                "ordering": ("tenant", "key", "-version"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("key", None)),
                        fields=("tenant", "version"),
                        name="version_of_tenant_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("key__isnull", False)),
                        fields=("key", "version"),
                        name="version_of_key_once",
                    ),
                ],
            },
        ),
    ]
