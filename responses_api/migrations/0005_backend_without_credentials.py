"""No credentials in a backend's address: a rule of the field, for every way to save one."""

from django.db import migrations, models

import responses_api.models.backend


class Migration(migrations.Migration):
    dependencies = [("responses_api", "0004_index_continuations")]

    operations = [
        migrations.AlterField(
            model_name="backend",
            name="base_url",
            field=models.URLField(
                help_text="Up to and including the version, e.g. https://api.example.com/v1",
                max_length=500,
                validators=[responses_api.models.backend.without_credentials],
                verbose_name="base URL",
            ),
        ),
    ]
