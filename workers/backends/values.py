"""Values in an upstream's JSON, taken with care: what nothing behind us could carry is mended, or was not told."""

import json
from typing import Any, Final, cast

import orjson

from responses_api.protocol.plain import Json
from responses_api.protocol.wording import safe_text

_MOST_TOKENS: Final = 2**53


def parse_object(text: str) -> Json:
    """A JSON object. Escaped lone surrogates are let through: half of a pair may be in the next chunk.

    Raises ValueError for anything else.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return cast(Json, value)


def count_of(value: Any) -> int:
    """A count of tokens; 0 for what is none: too large to be carried, broken, negative, no number at all."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return 0
    return int(value) if value == int(value) else 0


def carriable(value: Json) -> Json:
    """The object as JSON that can be sent: without lone surrogates, and with no number beyond 64 bits."""
    try:
        orjson.dumps(value)
    except TypeError:
        mended: Json = _mended(value)
        return mended
    return value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, list):
        return [_mended(entry) for entry in value]
    if isinstance(value, dict):
        return {safe_text(name): _mended(entry) for name, entry in value.items()}
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value)
    return value
