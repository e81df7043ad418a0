"""What a response needs whose row is there before its end, and what tells its stream again afterwards."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0009_images"),
        ("tenants", "0003_key_dialect"),
    ]

    operations = [
        migrations.AddField(
            model_name="response",
            name="attempt",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, editable=False, help_text="How many workers had it before."
            ),
        ),
        migrations.AddField(
            model_name="response",
            name="is_followed",
            field=models.BooleanField(
                db_default=False,
                default=False,
                editable=False,
                help_text="Somebody may have seen some of its stream.",
            ),
        ),
        migrations.AddField(
            model_name="response",
            name="score",
            field=models.JSONField(
                blank=True,
                editable=False,
                help_text="How its stream was cut: see protocol/score.py.",
                null=True,
            ),
        ),
        migrations.AddIndex(
            model_name="response",
            index=models.Index(
                condition=models.Q(("status__in", ("queued", "in_progress"))),
                fields=["id"],
                name="response_unfinished",
            ),
        ),
    ]
