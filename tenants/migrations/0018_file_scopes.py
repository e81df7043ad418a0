"""Scopes for files. A key that could do everything there was can do this, too; one that was narrowed stays as it is."""

import django.contrib.postgres.fields
from django.db import migrations, models

import tenants.models.key

# A migration is in no scope, and without one it sees no rows.
ALL_TENANTS = "SELECT set_config('antiphon.tenant_id', '*', true)"
NO_TENANT = "SELECT set_config('antiphon.tenant_id', '', true)"
WIDEN = """
UPDATE tenants_apikey SET scopes = scopes || ARRAY['files:write', 'files:read']::varchar[]
 WHERE scopes @> ARRAY['responses:write', 'responses:read', 'models:read', 'usage:read']::varchar[]
"""
NARROW = """
UPDATE tenants_apikey SET scopes = array_remove(array_remove(scopes, 'files:write'), 'files:read')
"""


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0017_operator_scopes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="apikey",
            name="scopes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[
                        ("responses:write", "make, cancel, compact and delete responses"),
                        ("responses:read", "read stored responses"),
                        ("models:read", "list models"),
                        ("usage:read", "read usage and limits"),
                        ("files:write", "upload and delete files"),
                        ("files:read", "read files"),
                        ("backends:choose", "name the backend that is to be asked"),
                    ],
                    max_length=32,
                ),
                db_default=[
                    "responses:write",
                    "responses:read",
                    "models:read",
                    "usage:read",
                    "files:write",
                    "files:read",
                ],
                default=tenants.models.key.all_scopes,
                help_text="What the key may do.",
                size=None,
            ),
        ),
        migrations.RunSQL(sql=[ALL_TENANTS, WIDEN, NO_TENANT], reverse_sql=[ALL_TENANTS, NARROW, NO_TENANT]),
    ]
