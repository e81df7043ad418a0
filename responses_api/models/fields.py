"""The column of a public id."""

from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    _CharField = models.CharField[str, str]
else:
    _CharField = models.CharField  # takes no type arguments when it runs


class PublicIdField(_CharField):
    """An id such as `resp_…`: at most 64 ASCII characters, compared byte by byte.

    Its column type is spelled out because Django would give a `varchar` key a second index for LIKE searches, which
    nobody makes and every insert would pay for.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"max_length": 64, "db_collation": "C", **options})

    def db_type(self, connection: Any) -> str:
        """The column's type."""
        return f"character varying({self.max_length})"

    def deconstruct(self) -> Any:
        """The field as migrations write it."""
        name, path, args, options = super().deconstruct()
        del options["max_length"], options["db_collation"]
        return name, path, args, options
