"""JSON keeps the order of its keys: a stream that is told again from what is stored is the one that was told."""

from django.db import migrations

from responses_api.models.fields import PlainJsonField

_COLUMNS = {
    "responses_api_response": ("request", "usage", "error", "incomplete_details", "extensions", "score"),
    "responses_api_item": ("data",),
}


def _as(kind: str) -> list[str]:
    return [
        f"ALTER TABLE {table} "
        + ", ".join(f"ALTER {name} TYPE {kind} USING {name}::{kind}" for name in names)
        for table, names in _COLUMNS.items()
    ]


class Migration(migrations.Migration):
    dependencies = [("responses_api", "0010_background_responses")]

    operations = [
        # Field by field each table would be written anew as often as it has columns.
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(sql=_as("json"), reverse_sql=_as("jsonb"))],
            state_operations=[
                migrations.AlterField("item", "data", PlainJsonField()),
                migrations.AlterField(
                    "response",
                    "request",
                    PlainJsonField(help_text="The settings of the request, without its input."),
                ),
                migrations.AlterField("response", "usage", PlainJsonField(blank=True, null=True)),
                migrations.AlterField("response", "error", PlainJsonField(blank=True, null=True)),
                migrations.AlterField(
                    "response", "incomplete_details", PlainJsonField(blank=True, null=True)
                ),
                migrations.AlterField(
                    "response",
                    "extensions",
                    PlainJsonField(
                        blank=True, help_text="Fields of the response with a vendor's prefix.", null=True
                    ),
                ),
                migrations.AlterField(
                    "response",
                    "score",
                    PlainJsonField(
                        blank=True,
                        editable=False,
                        help_text="How its stream was cut: see protocol/score.py.",
                        null=True,
                    ),
                ),
            ],
        )
    ]
