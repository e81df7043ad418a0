"""The one name for plain JSON objects, which is what items, events and snapshots are."""

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
