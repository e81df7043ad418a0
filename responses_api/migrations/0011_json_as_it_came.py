"""JSON keeps the order of its keys: a stream that is told again from what is stored is the one that was told."""

from django.db import migrations

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

    operations = [migrations.RunSQL(sql=_as("json"), reverse_sql=_as("jsonb"))]
