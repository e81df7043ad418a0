"""A tenant is seen in its own scope only: names of others are nobody's business."""

from django.db import migrations

from tenants.scoping import row_level_security


class Migration(migrations.Migration):
    dependencies = [("tenants", "0012_more_row_level_security")]

    operations = [row_level_security("tenants_tenant", "id")]
