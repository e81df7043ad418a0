"""Values in an upstream's JSON, taken with care: what nothing behind us could carry is mended, or was not told."""

import json
import math
import sys
from typing import Any, Final, cast

import orjson

from responses_api.protocol.errors import model_error
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import safe_text

_MOST_TOKENS: Final = 2**53
_IMPOSSIBLE: Final = -9999.0
# JSON may be nested only so deep; items, responses, jobs and what is sealed put some levels around a value.
_LEVELS_AROUND: Final = 16


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


def text_of(value: Any) -> str:
    """A text; "" for what is none."""
    return value if isinstance(value, str) else ""


def detail_of(value: Json, group: str, name: str) -> Any:
    """A field of an object within an object; None where either is not there."""
    details = value.get(group)
    return details.get(name) if isinstance(details, dict) else None


def arguments_of(value: Any) -> str:
    """The arguments of a call as JSON text; some servers send the object itself. Raises as `written` does."""
    if isinstance(value, str):
        return value
    return "" if value is None else written(value)


def written(arguments: Any) -> str:
    """Arguments that came as JSON as its text. Raises `ProtocolError` where they are nested deeper than it can be."""
    try:
        return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        raise model_error(
            "The model made a function call with arguments that are nested too deeply."
        ) from None


def count_of(value: Any) -> int:
    """A count of tokens; 0 for what is none: too large to be carried, broken, negative, no number at all."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return 0
    return int(value) if value == int(value) else 0


def log_prob(token: Any, logprob: Any, octets: Any = None) -> Json | None:
    """A token with its log probability and its bytes; None where one of the first two makes no sense.

    `octets` are the token's bytes where the upstream told them: some leave them out, others have null for tokens that
    are no text of their own.
    """
    if not isinstance(token, str) or not _is_number(logprob):
        return None
    text = safe_text(token)
    if not isinstance(octets, list) or not all(_is_octet(octet) for octet in octets):
        octets = list(text.encode())
    return {"token": text, "logprob": _clamped(logprob), "bytes": octets}


def carriable(value: Json) -> Json:
    """The object as JSON that can be sent: without lone surrogates, and with no number beyond 64 bits. Raises
    ValueError for one that is nested too deeply.
    """
    try:
        _with_room(value)
    except TypeError:
        mended: Json = _checked(value)
        return mended
    return value


def storable(value: Any) -> Any:
    """As `carriable`, and without NUL: a value that is told and kept as it came. Raises ValueError for one that is
    nested too deeply.
    """
    try:
        if b"\\u0000" not in _with_room(value):
            return value
    except TypeError:
        pass
    return _checked(value)


def _with_room(value: Any) -> bytes:
    """The value as JSON, with room for what it travels and is kept in. Raises TypeError where that is impossible."""
    for _ in range(_LEVELS_AROUND):
        value = [value]
    return orjson.dumps(value)


def _checked(value: Any) -> Any:
    """The value mended. Raises ValueError where that does not help."""
    try:
        mended = _mended(value)
        _with_room(mended)
    except (TypeError, RecursionError):
        raise ValueError("nested too deeply") from None
    return mended


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, list):
        return [_mended(entry) for entry in value]
    if isinstance(value, dict):
        return {safe_text(name): _mended(entry) for name, entry in value.items()}
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return _nearest_float(value)
    return value


def _nearest_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf <= value <= math.inf


def _is_octet(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 255


def _clamped(logprob: float) -> float:
    """A token that could not come has minus infinity for a logarithm; the specification's own word for it is -9999."""
    return max(_IMPOSSIBLE, min(logprob, -_IMPOSSIBLE))
