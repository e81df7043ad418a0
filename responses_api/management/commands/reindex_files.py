"""`manage.py reindex_files`: has files read again after another embedding model was chosen."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from responses_api.services import indexing, vectors


class Command(BaseCommand):
    """Asks the workers to read files again."""

    help = (
        "Reads files again whose vectors are of another embedding model than the settings name now. While a file is "
        "being read, searches do not find it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """`--all` reads every file again."""
        parser.add_argument(
            "--all", action="store_true", help="read all files again, also those that could not be read"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask, and say how many. Raises CommandError where this database keeps no vectors."""
        vectors.prepare()
        if not vectors.are_there():
            raise CommandError(vectors.MISSING)
        count = vectors.read_anew(vectors.model_name(), everything=options["all"])
        indexing.ask()
        self.stdout.write(f"{count} files will be read again.")
