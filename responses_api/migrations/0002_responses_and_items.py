"""Stored responses and their items."""

import django.db.models.deletion
from django.db import migrations, models

import responses_api.models.fields


class Migration(migrations.Migration):
    dependencies = [("responses_api", "0001_backends_and_routes"), ("tenants", "0001_tenants_and_keys")]

    operations = [
        migrations.CreateModel(
            name="Response",
            fields=[
                (
                    "id",
                    responses_api.models.fields.PublicIdField(
                        editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("key_id", models.UUIDField(help_text="The API key that asked.", verbose_name="key")),
                (
                    "previous_id",
                    models.CharField(
                        blank=True,
                        db_collation="C",
                        max_length=64,
                        null=True,
                        verbose_name="previous response",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "queued"),
                            ("in_progress", "in progress"),
                            ("completed", "completed"),
                            ("incomplete", "incomplete"),
                            ("failed", "failed"),
                            ("cancelled", "cancelled"),
                        ],
                        max_length=16,
                    ),
                ),
                ("model", models.CharField(max_length=200)),
                ("backend", models.CharField(blank=True, max_length=64)),
                ("request", models.JSONField(help_text="The settings of the request, without its input.")),
                ("usage", models.JSONField(blank=True, null=True)),
                ("error", models.JSONField(blank=True, null=True)),
                ("incomplete_details", models.JSONField(blank=True, null=True)),
                ("created_at", models.BigIntegerField(help_text="Unix time in seconds.")),
                (
                    "completed_at",
                    models.BigIntegerField(blank=True, help_text="Unix time in seconds.", null=True),
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
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Item",
            fields=[
                (
                    "id",
                    responses_api.models.fields.PublicIdField(
                        editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "position",
                    models.PositiveIntegerField(
                        help_text="Counts the response's input items, then its output items."
                    ),
                ),
                ("is_output", models.BooleanField(verbose_name="output")),
                ("data", models.JSONField()),
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
                (
                    "response",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="responses_api.response",
                    ),
                ),
            ],
            options={
                "ordering": ("response", "position"),
            },
        ),
        migrations.AddIndex(
            model_name="response",
            index=models.Index(fields=["tenant", "-id"], name="response_by_tenant"),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(
                fields=("response", "position"), name="item_once_per_position"
            ),
        ),
    ]
