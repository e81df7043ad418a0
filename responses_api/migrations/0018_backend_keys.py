"""A backend's key may be kept in its row, sealed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0017_backend_capabilities"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="sealed_key",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="The key itself, sealed.",
                verbose_name="API key",
            ),
        ),
    ]
