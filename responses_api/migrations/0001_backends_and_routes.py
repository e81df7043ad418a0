"""Where models run, and which name goes where."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Backend",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=64, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("chat_completions", "Chat Completions"),
                            (
                                "openai_chat_completions",
                                "Chat Completions as OpenAI itself takes them (max_completion_tokens)",
                            ),
                        ],
                        default="chat_completions",
                        max_length=32,
                    ),
                ),
                (
                    "base_url",
                    models.URLField(
                        help_text="Up to and including the version, e.g. https://api.example.com/v1",
                        max_length=500,
                        verbose_name="base URL",
                    ),
                ),
                (
                    "api_key_env",
                    models.CharField(
                        blank=True,
                        help_text="Name of the environment variable of the workers that holds the key. Empty: no key is sent.",
                        max_length=128,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z_][A-Za-z0-9_]*$", "The name of an environment variable, not a key."
                            )
                        ],
                        verbose_name="API key variable",
                    ),
                ),
                ("is_enabled", models.BooleanField(db_default=True, default=True, verbose_name="enabled")),
                (
                    "connect_timeout",
                    models.FloatField(
                        db_default=5,
                        default=5,
                        help_text="Seconds to connect.",
                        validators=[django.core.validators.MinValueValidator(0.1)],
                    ),
                ),
                (
                    "first_byte_timeout",
                    models.FloatField(
                        db_default=120,
                        default=120,
                        help_text="Seconds until the answer begins.",
                        validators=[django.core.validators.MinValueValidator(0.1)],
                    ),
                ),
                (
                    "idle_timeout",
                    models.FloatField(
                        db_default=60,
                        default=60,
                        help_text="Seconds of silence inside an answer.",
                        validators=[django.core.validators.MinValueValidator(0.1)],
                    ),
                ),
                (
                    "total_timeout",
                    models.FloatField(
                        db_default=900,
                        default=900,
                        help_text="Seconds for a whole answer.",
                        validators=[django.core.validators.MinValueValidator(0.1)],
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="Route",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("model", models.CharField(help_text="The name that clients ask for.", max_length=200)),
                (
                    "upstream_model",
                    models.CharField(
                        blank=True, help_text="The backend's own name; empty: the same.", max_length=200
                    ),
                ),
                (
                    "position",
                    models.PositiveSmallIntegerField(
                        db_default=0, default=0, help_text="Lower is asked first."
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "backend",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="routes",
                        to="responses_api.backend",
                    ),
                ),
            ],
            options={
                "ordering": ("model", "position", "id"),
            },
        ),
        migrations.AddConstraint(
            model_name="route",
            constraint=models.UniqueConstraint(fields=("model", "backend"), name="route_once_per_backend"),
        ),
    ]
