"""Each response knows the first one of its chain, which counts what is deleted of the chain.

So one row tells whether something that was read of a chain still holds. The count is kept by a trigger: whoever deletes,
and however, cannot forget it. Chains from before this migration are read whole with each turn.
"""

from django.db import migrations, models

COUNT = """
CREATE FUNCTION responses_api_count_deletions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE responses_api_response SET deletions = deletions + 1
     WHERE id IN (SELECT root_id FROM gone WHERE root_id <> id);
    RETURN NULL;
END $$
"""
TRIGGER = """
CREATE TRIGGER count_deletions AFTER DELETE ON responses_api_response
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION responses_api_count_deletions()
"""


class Migration(migrations.Migration):
    dependencies = [("responses_api", "0006_token_counting")]

    operations = [
        migrations.AddField(
            model_name="response",
            name="root_id",
            field=models.CharField(
                blank=True,
                db_collation="C",
                editable=False,
                help_text="Empty where it is not known.",
                max_length=64,
                null=True,
                verbose_name="first response of the chain",
            ),
        ),
        migrations.AddField(
            model_name="response",
            name="deletions",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                editable=False,
                help_text="How many responses after this first one of a chain were deleted.",
            ),
        ),
        migrations.RunSQL(
            sql=[COUNT, TRIGGER],
            reverse_sql=[
                "DROP TRIGGER count_deletions ON responses_api_response",
                "DROP FUNCTION responses_api_count_deletions()",
            ],
        ),
    ]
