"""A key may say what becomes of tools that are not served."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0003_key_dialect")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="unserved_tools",
            field=models.CharField(
                choices=[
                    ("auto", "refused, except from clients that send them with every request"),
                    ("refuse", "refused"),
                    ("leave_out", "left out"),
                ],
                db_default="auto",
                default="auto",
                help_text="What becomes of tools that this server does not serve; a response tells the tools that it had.",
                max_length=16,
                verbose_name="tools that are not served",
            ),
        ),
    ]
