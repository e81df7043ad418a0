"""Which rule let or refused each call of a response."""

from django.db import migrations

import responses_api.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0013_route_prices"),
    ]

    operations = [
        migrations.AddField(
            model_name="response",
            name="policy_decisions",
            field=responses_api.models.fields.PlainJsonField(
                blank=True,
                editable=False,
                help_text="Which rule of which tool policy let or refused each call: see protocol/policy.py.",
                null=True,
            ),
        ),
    ]
