"""What a backend speaks, and what it can do."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0016_find_responses_by_index"),
    ]

    operations = [
        migrations.AddField(
            model_name="backend",
            name="allowed_options",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="Fields of its own that requests may set by antiphon:backend_options; * is any.",
            ),
        ),
        migrations.AddField(
            model_name="backend",
            name="files",
            field=models.CharField(
                choices=[("sent", "sent: the models read files"), ("refused", "refused with 400")],
                db_default="sent",
                default="sent",
                help_text="What becomes of a file in a request.",
                max_length=16,
            ),
        ),
        migrations.AddField(
            model_name="backend",
            name="native_features",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="What a backend that speaks Responses has of its own, and is to be used.",
            ),
        ),
        migrations.AddField(
            model_name="backend",
            name="passthrough_tool_types",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="Types of tools that a backend which speaks Responses runs or knows by itself: web_search, acme:*",
            ),
        ),
        migrations.AddField(
            model_name="backend",
            name="reasoning",
            field=models.CharField(
                choices=[
                    ("raw", "all of it that the backend tells"),
                    ("summary", "summaries alone"),
                    ("none", "nothing"),
                ],
                db_default="raw",
                default="raw",
                help_text="How much of the models' reasoning clients may see.",
                max_length=16,
            ),
        ),
        migrations.AddField(
            model_name="backend",
            name="tools",
            field=models.CharField(
                choices=[
                    ("native", "native: the models call tools"),
                    (
                        "emulated",
                        "emulated: the models call none, but an answer can be held to a JSON schema",
                    ),
                ],
                db_default="native",
                default="native",
                help_text="How the models call tools.",
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="backend",
            name="kind",
            field=models.CharField(
                choices=[
                    ("chat_completions", "Chat Completions"),
                    (
                        "openai_chat_completions",
                        "Chat Completions as OpenAI itself takes them (max_completion_tokens)",
                    ),
                    ("responses", "Responses"),
                    ("anthropic", "Anthropic Messages"),
                    ("gemini", "Gemini generateContent"),
                ],
                default="chat_completions",
                max_length=32,
            ),
        ),
        migrations.AlterField(
            model_name="backend",
            name="token_counting",
            field=models.CharField(
                choices=[
                    ("local", "here, with the vocabulary o200k_base"),
                    ("llama_cpp", "by the backend: llama.cpp's /chat/completions/input_tokens"),
                    ("vllm", "by the backend: vLLM's /tokenize"),
                    ("responses", "by the backend: /responses/input_tokens"),
                    ("anthropic", "by the backend: /messages/count_tokens"),
                    ("gemini", "by the backend: models/…:countTokens"),
                ],
                db_default="local",
                default="local",
                help_text="Who counts the tokens of a request. Where the backend fails to, it is done here.",
                max_length=32,
            ),
        ),
    ]
