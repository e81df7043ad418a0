"""Members, limits, policies, the ledger and the audit log are seen in the scope of their tenant only."""

from django.db import migrations

from tenants.scoping import row_level_security


class Migration(migrations.Migration):
    dependencies = [("tenants", "0011_audit_log")]

    operations = [
        row_level_security("tenants_membership"),
        row_level_security("tenants_invitation"),
        row_level_security("tenants_limit"),
        row_level_security("tenants_toolpolicy"),
        row_level_security("tenants_usagerecord"),
        row_level_security("tenants_auditevent"),
    ]
