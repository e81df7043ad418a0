"""Tenants and their keys."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Tenant",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=120, unique=True)),
                (
                    "is_active",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Switched off, all keys of the tenant are refused.",
                        verbose_name="active",
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("name", models.CharField(max_length=120)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("prefix", models.CharField(editable=False, max_length=12)),
                ("last_four", models.CharField(editable=False, max_length=4)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="keys", to="tenants.tenant"
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "ordering": ("-created_at",),
                "indexes": [models.Index(fields=["tenant", "-created_at"], name="key_by_tenant")],
            },
        ),
    ]
