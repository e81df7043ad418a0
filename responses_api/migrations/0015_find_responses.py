"""Responses are found by metadata without reading all of a tenant's."""

import django.db.models.deletion
from django.db import migrations, models

import responses_api.models.fields
from tenants.scoping import row_level_security

# A migration is in no scope, and without one it sees no rows, nor does the check of a new constraint.
ALL_TENANTS = "SELECT set_config('antiphon.tenant_id', '*', true)"
NO_TENANT = "SELECT set_config('antiphon.tenant_id', '', true)"

# As `models.metadata.metadata_digest`.
DIGEST = (
    "encode(substring(sha256(convert_to(length(pair.key) || ':' || pair.key || '=' || pair.value, 'UTF8')) "
    "FROM 1 FOR 16), 'hex')::uuid"
)
FILL = f"""
INSERT INTO responses_api_metadataentry (response_id, tenant_id, digest)
SELECT response.id, response.tenant_id, {DIGEST}
  FROM responses_api_response response, json_each_text(response.request -> 'metadata') pair
 WHERE json_typeof(response.request -> 'metadata') = 'object' AND pair.value IS NOT NULL
"""

# The database's own: however a response is deleted, nobody must think of its entries.
CASCADE = """
ALTER TABLE responses_api_metadataentry ADD CONSTRAINT metadata_of_response
  FOREIGN KEY (response_id) REFERENCES responses_api_response (id) ON DELETE CASCADE
"""


class Migration(migrations.Migration):
    dependencies = [("responses_api", "0014_policy_decisions"), ("tenants", "0012_more_row_level_security")]

    operations = [
        migrations.CreateModel(
            name="MetadataEntry",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "response_id",
                        "digest",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("response_id", responses_api.models.fields.PublicIdField(editable=False)),
                ("digest", models.UUIDField(editable=False)),
                (
                    "tenant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={"verbose_name_plural": "metadata entries"},
        ),
        migrations.RunSQL(sql=[ALL_TENANTS, FILL], reverse_sql=migrations.RunSQL.noop),
        migrations.RunSQL(
            sql=[CASCADE, NO_TENANT],
            reverse_sql=["ALTER TABLE responses_api_metadataentry DROP CONSTRAINT metadata_of_response"],
        ),
        row_level_security("responses_api_metadataentry"),
        migrations.AddIndex(
            model_name="metadataentry",
            index=models.Index(fields=["tenant", "digest", "-response_id"], name="response_by_metadata"),
        ),
    ]
