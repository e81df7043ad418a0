"""What the conformance suite found, route by route."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0020_backends_tried"),
    ]

    operations = [
        migrations.CreateModel(
            name="ConformanceRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("model", models.CharField(max_length=200)),
                ("backend", models.CharField(max_length=64)),
                ("kind", models.CharField(max_length=32)),
                ("upstream_model", models.CharField(max_length=200)),
                (
                    "occasion",
                    models.CharField(
                        choices=[
                            ("command", "manage.py conformance"),
                            ("asked", "asked for in the admin"),
                            ("schedule", "on schedule"),
                        ],
                        max_length=16,
                    ),
                ),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("seconds", models.FloatField(db_default=0, default=0)),
                (
                    "problem",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Why nothing was played; empty where it was.",
                    ),
                ),
            ],
            options={
                "ordering": ("-started_at", "-id"),
                "indexes": [
                    models.Index(fields=["model", "backend", "-started_at", "-id"], name="run_by_route")
                ],
            },
        ),
        migrations.CreateModel(
            name="ConformanceResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("scenario", models.CharField(max_length=64)),
                (
                    "end",
                    models.CharField(
                        choices=[
                            ("passed", "passed"),
                            ("failed", "failed"),
                            ("inconclusive", "inconclusive"),
                            ("not supported", "not supported"),
                        ],
                        max_length=16,
                    ),
                ),
                ("sentence", models.TextField()),
                ("seconds", models.FloatField()),
                ("exchange", models.JSONField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="results",
                        to="responses_api.conformancerun",
                    ),
                ),
            ],
            options={
                "ordering": ("position",),
                "constraints": [
                    models.UniqueConstraint(fields=("run", "scenario"), name="result_once_per_scenario")
                ],
            },
        ),
    ]
