"""How long a tenant keeps what it stored."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0005_key_rules"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="retention_days",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Days after which a stored response is deleted. Empty: kept until somebody deletes it.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(3650),
                ],
                verbose_name="retention",
            ),
        ),
        migrations.AddField(
            model_name="tenant",
            name="zero_data_retention",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Every response is made as with `store: false`, whatever its request says: nothing of it is kept.",
            ),
        ),
    ]
