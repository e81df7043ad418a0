"""Fields of a response with a vendor's prefix."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0007_roots_of_chains"),
    ]

    operations = [
        migrations.AddField(
            model_name="response",
            name="extensions",
            field=models.JSONField(
                blank=True, help_text="Fields of the response with a vendor's prefix.", null=True
            ),
        ),
    ]
