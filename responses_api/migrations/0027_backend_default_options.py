"""What every call of a backend carries of its own fields."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0026_used_approvals"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="default_options",
            field=models.JSONField(
                blank=True,
                db_default={},
                default=dict,
                help_text="Fields of its own that every call for an answer carries, unless the request sets them.",
            ),
        ),
    ]
