"""Which responses continue another one is found without reading all of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0003_row_level_security"),
        ("tenants", "0002_row_level_security"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="response",
            index=models.Index(
                condition=models.Q(("previous_id__isnull", False)),
                fields=["tenant", "previous_id"],
                name="response_by_previous",
            ),
        ),
    ]
