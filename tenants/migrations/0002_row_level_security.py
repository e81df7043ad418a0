"""A key is seen in the scope of its tenant only."""

from django.db import migrations

from tenants.scoping import row_level_security


class Migration(migrations.Migration):
    dependencies = [("tenants", "0001_tenants_and_keys")]

    operations = [row_level_security("tenants_apikey")]
