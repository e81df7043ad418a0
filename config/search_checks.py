"""System checks of file search: who embeds, and whether this database keeps vectors."""

import sys
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.db import connection

from responses_api.services import vectors

_TABLE = "responses_api_filechunk"


def check_embedding(**_: Any) -> list[CheckMessage]:
    """antiphon.E015: a server of embeddings that is half configured."""
    url, model = settings.EMBEDDING_URL, settings.EMBEDDING_MODEL
    if not url and not model and not settings.EMBEDDING_KEY:
        return []
    address = urlsplit(url)
    if model and address.scheme in ("http", "https") and address.netloc:
        return []
    return [
        Error(
            "ANTIPHON_EMBEDDING_URL and ANTIPHON_EMBEDDING_MODEL do not name a model at a server.",
            hint="Set both, the address up to and including /v1 (https://api.example.com/v1), or neither, for the model"
            " that comes with the service.",
            id="antiphon.E015",
        )
    ]


def check_vectors() -> list[CheckMessage]:
    """antiphon.W008: a database without pgvector. Everything but file search works."""
    if _TABLE not in connection.introspection.table_names():
        return []  # `migrate` makes that first
    if "migrate" in sys.argv[1:2] or vectors.are_there():
        return []  # it looks for the extension after the checks
    return [
        Warning(
            vectors.MISSING,
            hint="Where the server has the extension, a superuser runs CREATE EXTENSION vector in this database; then"
            " run manage.py migrate once more. Without file search there is nothing to do.",
            id="antiphon.W008",
        )
    ]
