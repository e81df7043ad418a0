"""Calls as this format has them: ids of a narrow alphabet, never twice in a conversation, and input that is an object.

Ids that fit go as they are; for any other one stands in, always the same one, so that a prompt cache and whatever the
upstream signed find the conversation as it was.
"""

import hashlib
import re
from typing import Any, Final

import orjson

from responses_api.protocol.plain import Json

_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_DIGITS: Final = 24
# What the body puts around an input, where JSON may be nested only so deep.
_LEVELS_AROUND: Final = 8


class CallIds:
    """The ids of the calls of one conversation, in order."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._times: dict[str, int] = {}

    def next(self, call_id: str) -> str:
        """The id for another call that has this one."""
        times = self._times[call_id] = self._times.get(call_id, 0) + 1
        fits = times == 1 and _ID.fullmatch(call_id) is not None and call_id not in self._taken
        mapped = call_id if fits else _stand_in(call_id, times)
        self._taken.add(mapped)
        return mapped


def _stand_in(call_id: str, times: int) -> str:
    digest = hashlib.sha256(f"{times}\n{call_id}".encode()).hexdigest()
    return f"toolu_{digest[:_DIGITS]}"


def input_of(arguments: str) -> Json:
    """The arguments of a call as an object. Text that is none, which models do write, is kept whole inside of one."""
    if not arguments.strip():
        return {}
    try:
        value: Any = orjson.loads(arguments)
        around = value
        for _ in range(_LEVELS_AROUND):
            around = [around]
        orjson.dumps(around)
    except (orjson.JSONDecodeError, TypeError):
        value = None
    return value if isinstance(value, dict) else {"arguments": arguments}
