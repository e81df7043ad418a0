"""Who counts tokens, and how many a model takes."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0005_backend_without_credentials"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="token_counting",
            field=models.CharField(
                choices=[
                    ("local", "here, with the vocabulary o200k_base"),
                    ("llama_cpp", "by the backend: llama.cpp's /chat/completions/input_tokens"),
                    ("vllm", "by the backend: vLLM's /tokenize"),
                ],
                db_default="local",
                default="local",
                help_text="Who counts the tokens of a request. Where the backend fails to, it is done here.",
                max_length=32,
            ),
        ),
        migrations.AddField(
            model_name="route",
            name="context_window",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Tokens that the model takes, input and output together. Empty: not known.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
            ),
        ),
    ]
