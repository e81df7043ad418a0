"""A response and its items are seen in the scope of their tenant only."""

from django.db import migrations

from tenants.scoping import row_level_security


class Migration(migrations.Migration):
    dependencies = [("responses_api", "0002_responses_and_items")]

    operations = [
        row_level_security("responses_api_response"),
        row_level_security("responses_api_item"),
    ]
