"""Several backends share the requests for a model."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0018_backend_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="route",
            name="weight",
            field=models.PositiveSmallIntegerField(
                db_default=1,
                default=1,
                help_text="Of several backends with the same position, each gets requests in this proportion.",
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
    ]
