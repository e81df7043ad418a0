"""Sums of the ledger are made of an index alone; the amount of a limit is one that every part counts exactly."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0014_usage_totals")]

    operations = [
        migrations.RemoveIndex("usagerecord", "usage_by_tenant_and_time"),
        migrations.AddIndex(
            "usagerecord",
            models.Index(
                fields=["tenant", "created_at"],
                include=("key_id", "model", "input_tokens", "output_tokens", "cost_nanos"),
                name="usage_by_tenant_and_time",
            ),
        ),
        migrations.AlterField(
            "limit",
            "amount",
            models.BigIntegerField(
                validators=[
                    django.core.validators.MinValueValidator(0),
                    django.core.validators.MaxValueValidator(2**53 - 1),
                ]
            ),
        ),
    ]
