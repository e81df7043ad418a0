"""Tenants whose end was asked for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0015_ledger_sums"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="deletion_asked_at",
            field=models.DateTimeField(
                editable=False,
                help_text="When its end was asked for: everything of it is being deleted.",
                null=True,
            ),
        ),
    ]
