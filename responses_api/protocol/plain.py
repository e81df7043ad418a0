"""The one name for plain JSON objects, which is what items, events and snapshots are; and records as such objects."""

from dataclasses import fields
from typing import Any, TypeAlias, TypeVar

Json: TypeAlias = dict[str, Any]

_T = TypeVar("_T")


def fields_of(record: Any) -> Json:
    """Every field of a dataclass, by its name."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def record_of(cls: type[_T], plain: Json) -> _T:
    """The inverse of `fields_of`; fields that the class does not know are ignored: a newer sender added them.

    Raises TypeError where one is missing.
    """
    known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    return cls(**{name: value for name, value in plain.items() if name in known})
