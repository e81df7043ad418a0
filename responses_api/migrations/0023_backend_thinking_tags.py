"""Where the reasoning begins that a server leaves in the text."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0022_backend_structured_output"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="thinking_tags",
            field=models.CharField(
                choices=[
                    ("told", "told: <think> begins an answer that reasons"),
                    ("opened", "opened: every answer begins within the reasoning, which </think> ends"),
                ],
                db_default="told",
                default="told",
                help_text="Where the reasoning begins that a Chat Completions server leaves in the text.",
                max_length=16,
            ),
        ),
    ]
