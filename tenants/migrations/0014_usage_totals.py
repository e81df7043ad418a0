"""The ledger added up by the hour and by the day."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from tenants.scoping import row_level_security


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0013_tenants_see_themselves"),
    ]

    operations = [
        migrations.CreateModel(
            name="UsageTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("span", models.CharField(choices=[("hour", "hour"), ("day", "day (UTC)")], max_length=8)),
                ("starts_at", models.BigIntegerField()),
                ("key_id", models.UUIDField(verbose_name="key")),
                ("model", models.CharField(max_length=200)),
                ("requests", models.BigIntegerField()),
                ("completed", models.BigIntegerField()),
                ("incomplete", models.BigIntegerField()),
                ("failed", models.BigIntegerField()),
                ("cancelled", models.BigIntegerField()),
                ("input_tokens", models.BigIntegerField()),
                ("cached_tokens", models.BigIntegerField()),
                ("output_tokens", models.BigIntegerField()),
                ("reasoning_tokens", models.BigIntegerField()),
                ("cost_nanos", models.BigIntegerField()),
                (
                    "duration",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
                (
                    "first_event",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
            ],
        ),
        migrations.AddField(
            model_name="usagerecord",
            name="is_rolled_up",
            field=models.BooleanField(
                db_default=False,
                default=False,
                editable=False,
                help_text="Whether its sums are in `UsageTotal`.",
            ),
        ),
        migrations.AddIndex(
            model_name="usagerecord",
            index=models.Index(
                condition=models.Q(("is_rolled_up", False)),
                fields=["tenant", "created_at"],
                name="usage_not_rolled_up",
            ),
        ),
        migrations.AddField(
            model_name="usagetotal",
            name="tenant",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="tenants.tenant",
            ),
        ),
        migrations.AddIndex(
            model_name="usagetotal",
            index=models.Index(fields=["span", "starts_at"], name="usage_total_by_time"),
        ),
        migrations.AddConstraint(
            model_name="usagetotal",
            constraint=models.UniqueConstraint(
                fields=("tenant", "span", "starts_at", "key_id", "model"), name="usage_total_once"
            ),
        ),
        row_level_security("tenants_usagetotal"),
    ]
