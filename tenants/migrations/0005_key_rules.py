"""What a key may do, for how long, from where, and in place of which one."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import tenants.models.key


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("tenants", "0004_key_unserved_tools"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="allowed_addresses",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=64),
                blank=True,
                db_default=[],
                default=list,
                help_text="Addresses or networks (192.0.2.7, 192.0.2.0/24, 2001:db8::/32) that may use the key. Empty: all.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="allowed_models",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=200),
                blank=True,
                db_default=[],
                default=list,
                help_text="Names of models, * for any letters. Empty: all models.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="created_by",
            field=models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="expires_at",
            field=models.DateTimeField(
                blank=True, help_text="From then on the key is refused. Empty: it does not expire.", null=True
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="last_used_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="apikey",
            name="purpose",
            field=models.CharField(
                choices=[("app", "for apps"), ("playground", "of the playground")],
                db_default="app",
                default="app",
                editable=False,
                max_length=16,
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="replaces",
            field=models.OneToOneField(
                editable=False,
                help_text="The key that this one was made in place of; that one works until its own end.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="replaced_by",
                to="tenants.apikey",
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="scopes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[
                        ("responses:write", "make, cancel, compact and delete responses"),
                        ("responses:read", "read stored responses"),
                        ("models:read", "list models"),
                        ("usage:read", "read usage and limits"),
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
