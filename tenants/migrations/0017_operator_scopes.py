"""A key may have a scope that only the operator gives."""

import django.contrib.postgres.fields
from django.db import migrations, models

import tenants.models.key


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0016_ends_of_tenants"),
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
                        ("backends:choose", "name the backend that is to be asked"),
                    ],
                    max_length=32,
                ),
                db_default=["responses:write", "responses:read", "models:read", "usage:read"],
                default=tenants.models.key.all_scopes,
                help_text="What the key may do.",
                size=None,
            ),
        ),
    ]
