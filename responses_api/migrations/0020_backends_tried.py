"""Which backends could not answer is kept with the response."""

from django.db import migrations

import responses_api.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0019_route_weights"),
    ]

    operations = [
        migrations.AddField(
            model_name="response",
            name="tried",
            field=responses_api.models.fields.PlainJsonField(
                blank=True,
                editable=False,
                help_text="The backends that could not answer, before the one that did, and why.",
                null=True,
            ),
        ),
    ]
