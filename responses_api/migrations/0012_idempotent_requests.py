"""Requests that their clients may send again, each with its key; seen in the scope of their tenant only."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import responses_api.models.fields
from tenants.scoping import row_level_security


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0011_json_as_it_came"),
        ("tenants", "0004_key_unserved_tools"),
    ]

    operations = [
        migrations.CreateModel(
            name="IdempotentRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(db_collation="C", max_length=255)),
                ("digest", models.BinaryField(max_length=32)),
                ("response_id", responses_api.models.fields.PublicIdField()),
                (
                    "is_gone",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Its response was deleted: it is not made again.",
                    ),
                ),
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
                "indexes": [
                    models.Index(fields=["tenant", "response_id"], name="request_by_response"),
                    models.Index(fields=["created_at"], name="request_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "key"), name="request_once_per_key")
                ],
            },
        ),
        row_level_security("responses_api_idempotentrequest"),
    ]
