"""A key may say which names its clients know raw reasoning by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0002_row_level_security")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="dialect",
            field=models.CharField(
                choices=[
                    ("auto", "what the client's headers tell"),
                    ("open", "the Open Responses specification's"),
                    ("openai", "OpenAI's"),
                ],
                db_default="auto",
                default="auto",
                help_text="Whose names the events of raw reasoning have for clients that use this key.",
                max_length=16,
            ),
        ),
    ]
