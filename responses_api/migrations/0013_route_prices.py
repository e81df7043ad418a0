"""What a model costs."""

from decimal import Decimal

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0012_idempotent_requests"),
    ]

    operations = [
        migrations.AddField(
            model_name="route",
            name="cached_input_price",
            field=models.DecimalField(
                blank=True,
                db_default=None,
                decimal_places=6,
                default=None,
                help_text="Price of a million tokens of input that the backend had cached. Empty: as for other input.",
                max_digits=14,
                null=True,
                validators=[django.core.validators.MinValueValidator(Decimal("0"))],
            ),
        ),
        migrations.AddField(
            model_name="route",
            name="input_price",
            field=models.DecimalField(
                db_default=Decimal("0"),
                decimal_places=6,
                default=Decimal("0"),
                help_text="Price of a million tokens of input, in the currency of ANTIPHON_CURRENCY.",
                max_digits=14,
                validators=[django.core.validators.MinValueValidator(Decimal("0"))],
            ),
        ),
        migrations.AddField(
            model_name="route",
            name="output_price",
            field=models.DecimalField(
                db_default=Decimal("0"),
                decimal_places=6,
                default=Decimal("0"),
                help_text="Price of a million tokens of output, reasoning included.",
                max_digits=14,
                validators=[django.core.validators.MinValueValidator(Decimal("0"))],
            ),
        ),
    ]
