"""Files that tenants uploaded, their content in pieces and their text in chunks; seen in the scope of their tenant only."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import responses_api.models.fields
from tenants.scoping import row_level_security


def _cascade(table: str, name: str) -> migrations.RunSQL:
    """The database's own: however a file is deleted, nobody must think of what belongs to it."""
    return migrations.RunSQL(
        sql=[
            f"ALTER TABLE {table} ADD CONSTRAINT {name}"
            " FOREIGN KEY (file_id) REFERENCES responses_api_file (id) ON DELETE CASCADE"
        ],
        reverse_sql=[f"ALTER TABLE {table} DROP CONSTRAINT {name}"],
    )


class Migration(migrations.Migration):
    dependencies = [
        ("responses_api", "0023_backend_thinking_tags"),
        ("tenants", "0018_file_scopes"),
    ]

    operations = [
        migrations.CreateModel(
            name="File",
            fields=[
                (
                    "id",
                    responses_api.models.fields.PublicIdField(
                        editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "key_id",
                    models.UUIDField(
                        help_text="The API key that uploaded it; empty for a person.",
                        null=True,
                        verbose_name="key",
                    ),
                ),
                (
                    "uploaded_by",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The person who uploaded it, if one did.",
                        max_length=254,
                    ),
                ),
                ("filename", models.CharField(max_length=255, verbose_name="name")),
                ("bytes", models.BigIntegerField(help_text="In bytes.", verbose_name="size")),
                ("media_type", models.CharField(max_length=127)),
                ("sha256", models.BinaryField(max_length=32, null=True)),
                ("purpose", models.CharField(max_length=32)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("uploading", "on its way"),
                            ("uploaded", "waits to be read"),
                            ("processed", "processed"),
                            ("error", "could not be read"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "status_details",
                    models.TextField(blank=True, help_text="Why it could not be read.", null=True),
                ),
                (
                    "chunk_count",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        editable=False,
                        help_text="How many pieces of text search has of it.",
                        verbose_name="chunks",
                    ),
                ),
                (
                    "attempts",
                    models.PositiveSmallIntegerField(
                        db_default=0,
                        default=0,
                        editable=False,
                        help_text="How many workers have begun to read it.",
                    ),
                ),
                (
                    "begun_at",
                    models.BigIntegerField(
                        editable=False,
                        help_text="When a worker last said that it reads it; unix seconds.",
                        null=True,
                    ),
                ),
                ("created_at", models.BigIntegerField(help_text="Unix time in seconds.")),
                (
                    "expires_at",
                    models.BigIntegerField(
                        blank=True, help_text="When it is deleted by itself; unix time in seconds.", null=True
                    ),
                ),
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
            options={
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="FileBlob",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "file_id", "position", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("data", models.BinaryField()),
                (
                    "file",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="blobs",
                        to="responses_api.file",
                    ),
                ),
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
            options={
                "ordering": ("file", "position"),
            },
        ),
        migrations.CreateModel(
            name="FileChunk",
            fields=[
                (
                    "id",
                    responses_api.models.fields.PublicIdField(
                        editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("position", models.PositiveIntegerField(help_text="Counts the chunks of the file from 0.")),
                ("text", models.TextField()),
                (
                    "page",
                    models.PositiveIntegerField(
                        help_text="The page that it begins on, from 1, where there are pages.", null=True
                    ),
                ),
                (
                    "headings",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=300),
                        db_default=[],
                        default=list,
                        help_text="The headings that it stands under, the outermost first.",
                        size=None,
                    ),
                ),
                (
                    "file",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="chunks",
                        to="responses_api.file",
                    ),
                ),
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
            options={
                "ordering": ("file", "position"),
            },
        ),
        migrations.AddIndex(
            model_name="file",
            index=models.Index(fields=["tenant", "-id"], name="file_by_tenant"),
        ),
        migrations.AddIndex(
            model_name="file",
            index=models.Index(fields=["tenant"], include=("bytes",), name="file_bytes_by_tenant"),
        ),
        migrations.AddIndex(
            model_name="file",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", False)),
                fields=["expires_at"],
                name="file_by_expiry",
            ),
        ),
        migrations.AddIndex(
            model_name="file",
            index=models.Index(
                condition=models.Q(("status__in", ("uploading", "uploaded"))),
                fields=["id"],
                name="file_unsettled",
            ),
        ),
        migrations.AddConstraint(
            model_name="filechunk",
            constraint=models.UniqueConstraint(fields=("file", "position"), name="chunk_once_per_position"),
        ),
        _cascade("responses_api_fileblob", "blob_of_file"),
        _cascade("responses_api_filechunk", "chunk_of_file"),
        row_level_security("responses_api_file"),
        row_level_security("responses_api_fileblob"),
        row_level_security("responses_api_filechunk"),
    ]
