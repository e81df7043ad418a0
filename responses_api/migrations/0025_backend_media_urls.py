"""What becomes of the address of an image, a file or a video."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0024_uploaded_files"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="media_urls",
            field=models.CharField(
                choices=[
                    ("sent", "sent: the backend fetches what is there, by its own means"),
                    ("fetched", "fetched: here, where the guard lets it; the backend gets the content"),
                    ("refused", "refused with 400"),
                ],
                db_default="sent",
                default="sent",
                help_text="What becomes of the address of an image, a file or a video in a request.",
                max_length=16,
                verbose_name="media URLs",
            ),
        ),
    ]
