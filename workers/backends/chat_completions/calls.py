"""Which tool call a fragment belongs to, in streams that number, name or merely order their calls."""

from typing import Any

import orjson

from responses_api.protocol.plain import Json
from workers.backends.parts import CallDelta
from workers.backends.values import arguments_of, text_of

_LEGACY = "function_call"


class _Slot:
    """A call in the making, as far as the fragments told."""

    __slots__ = ("arguments", "id", "key", "name")

    def __init__(self, key: int) -> None:
        self.key = key
        self.id = ""
        self.name = ""
        self.arguments = ""

    def is_other(self, id: str, name: str, arguments: str) -> bool:
        """Whether a fragment in this place begins another call.

        An id decides. Without ids, another name does, or a name that comes with arguments after these are
        whole.
        """
        if id and self.id:
            return id != self.id
        if id or self.id or not name or not self.name:
            return False
        return name != self.name or bool(
            arguments and self.arguments != arguments and _is_whole(self.arguments)
        )

    def take(self, id: str, name: str, arguments: str) -> CallDelta:
        """The fragment as a part of this call."""
        self.id = self.id or id
        self.name = self.name or name
        if not self.id:
            self.arguments += arguments
        return CallDelta(self.key, id or None, name or None, arguments)


class CallReader:
    """Reads the `tool_calls` of each chunk of one answer."""

    def __init__(self) -> None:
        self._slots: dict[int, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}
        self._latest = 0
        self._count = 0

    def read(self, entries: Any) -> list[CallDelta]:
        """The fragments of one chunk, one alone perhaps without its list. Entries that are no objects are ignored."""
        if isinstance(entries, dict):
            entries = [entries]
        calls = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        return [self._read_entry(entry, place, len(calls)) for place, entry in enumerate(calls)]

    def read_legacy(self, call: Any) -> list[CallDelta]:
        """The older form, one call an answer, without an id."""
        if not isinstance(call, dict):
            return []
        return [
            CallDelta(_LEGACY, None, text_of(call.get("name")) or None, arguments_of(call.get("arguments")))
        ]

    def _read_entry(self, entry: Json, place: int, count: int) -> CallDelta:
        function = entry.get("function")
        if not isinstance(function, dict):
            # Some write name and arguments beside the id.
            function = entry
        told = (
            text_of(entry.get("id")),
            text_of(function.get("name")),
            arguments_of(function.get("arguments")),
        )
        return self._slot(entry.get("index"), place, count, told).take(*told)

    def _slot(self, index: Any, place: int, count: int, told: tuple[str, str, str]) -> _Slot:
        id = told[0]
        if not isinstance(index, int):
            if id in self._by_id:
                return self._by_id[id]
            # Unnumbered: several in one chunk are told apart by their order, a single one goes on with the
            # latest.
            index = place if count > 1 else self._latest
        slot = self._slots.get(index)
        if slot is None or slot.is_other(*told):
            slot = self._slots[index] = _Slot(self._count)
            self._count += 1
        self._latest = index
        if id:
            self._by_id.setdefault(id, slot)
        return slot


def _is_whole(arguments: str) -> bool:
    try:
        orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return False
    return True
