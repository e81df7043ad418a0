"""Whether a backend holds answers to a form."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0021_conformance_results"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="structured_output",
            field=models.CharField(
                choices=[
                    ("sent", "sent: the backend holds answers to JSON schemas"),
                    ("refused", "refused with 400"),
                ],
                db_default="sent",
                default="sent",
                help_text="What becomes of a form that a request wants its answer to have (text.format).",
                max_length=16,
            ),
        ),
    ]
