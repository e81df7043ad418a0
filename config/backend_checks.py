"""System checks of the backends: whether any model is served, and whether each backend's key is there."""

import os
from collections.abc import Iterator

from django.core.checks import CheckMessage, Warning
from django.db import connection

_TABLE = "responses_api_backend"


def check_backends() -> list[CheckMessage]:
    """antiphon.W002, W003, W009: no backend, one whose key variable is not set here, one whose stored key is lost."""
    if "responses_api_route" not in connection.introspection.table_names():
        return []  # `migrate` runs the checks before the tables are there
    return [*_unserved(), *_without_variable(), *_with_lost_keys()]


def _unserved() -> Iterator[CheckMessage]:
    from responses_api.models import Route

    if not Route.objects.filter(backend__is_enabled=True).exists():
        yield Warning(
            "No model is served: there is no enabled backend with a route.",
            hint="Add one: manage.py add_backend NAME --kind chat_completions --base-url URL --model MODEL",
            id="antiphon.W002",
        )


def _without_variable() -> Iterator[CheckMessage]:
    from responses_api.models import Backend

    # `migrate` runs the checks before it adds columns, too: only those that have always been there are read.
    for name, variable in Backend.objects.filter(is_enabled=True).values_list("name", "api_key_env"):
        if variable and variable not in os.environ:
            yield Warning(
                f"The backend '{name}' takes its key from {variable}, which is not set here.",
                hint="Set it in the workers' environment or in .env.",
                id="antiphon.W003",
            )


def _with_lost_keys() -> Iterator[CheckMessage]:
    from responses_api.models import Backend
    from responses_api.services.backend_keys import opens

    with connection.cursor() as cursor:
        columns = {column.name for column in connection.introspection.get_table_description(cursor, _TABLE)}
    if "sealed_key" not in columns:
        return
    stored = Backend.objects.filter(is_enabled=True).exclude(sealed_key="")
    for backend in stored.only("name", "base_url", "sealed_key"):
        if not opens(backend):
            yield Warning(
                f"The key that is stored with the backend '{backend.name}' does not open.",
                hint="Put the key that it was sealed under back into ANTIPHON_SEAL_KEYS, or enter the backend's again.",
                id="antiphon.W009",
            )
