"""The columns that the API's objects need: public ids, and JSON as it travels."""

import re
from typing import TYPE_CHECKING, Any, Final

from django.db import models
from psycopg.types.json import Json as PgJson

from responses_api.protocol.sse import decode, encode

if TYPE_CHECKING:
    _CharField = models.CharField[str, str]
else:
    _CharField = models.CharField  # takes no type arguments when it runs


_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_id(text: str) -> bool:
    """Whether `text` could be the id of something; what could not is answered as an unknown id, without a query."""
    return _ID.fullmatch(text) is not None


class PlainJsonField(models.JSONField):
    """JSON that comes back as it came in, its keys in their order, by the reader that read the request.

    The column is `json`, which keeps the text. `jsonb` sorts the keys of every object, so that a stream told again
    would differ from the one that was told, and writes 1e30 out as 31 digits.
    """

    def db_type(self, connection: Any) -> str:
        """The column's type."""
        return "json"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """The value as a parameter of a query."""
        return None if value is None else PgJson(value, dumps=encode)

    def select_format(self, compiler: Any, sql: str, params: Any) -> Any:
        """Read it as text: the driver would parse it by rules of its own."""
        return f"{sql}::text", params

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """The stored value as plain Python; None where there is none."""
        return decode(value) if isinstance(value, str | bytes) else value


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
