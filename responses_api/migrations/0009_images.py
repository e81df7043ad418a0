"""What becomes of an image that a backend's models cannot see."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0008_response_extensions"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="images",
            field=models.CharField(
                choices=[
                    ("sent", "sent: the models see images"),
                    ("noted", "noted: the models see none, and read that there was one"),
                    ("refused", "refused with 400"),
                ],
                db_default="sent",
                default="sent",
                help_text="What becomes of an image in a request.",
                max_length=16,
            ),
        ),
    ]
