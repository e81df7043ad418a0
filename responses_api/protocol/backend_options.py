"""Fields of a model's backend that a request sets by itself, `antiphon:backend_options`, or the backend's row for all.

They go into the body of the backend as they are, beside what the service makes of the request. What they mean only the
backend knows, so they are portable to no other. Its row says which it takes, and tool policies may deny some. What the
row sets by default the operator wrote: no policy is asked about it, and no response tells it.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import orjson
from pydantic_core import PydanticCustomError

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.own_fields import OWN_FIELDS
from responses_api.protocol.plain import Json
from responses_api.protocol.validation import refusal, refuse_uncarriable

FIELD: Final = "antiphon:backend_options"
"""The name of the field, in requests and in responses."""

ANY: Final = "*"
"""In the list of a backend's row: whatever is asked for."""

_MOST_OPTIONS: Final = 64
_MOST_BYTES: Final = 65_536
_DEPTH: Final = 16
NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""What an option may be called."""

SCHEMA: Final[Json] = {
    "type": "object",
    "additionalProperties": True,
    "propertyNames": {"pattern": f"^{NAME.pattern}$"},
    "maxProperties": _MOST_OPTIONS,
}


def check_options(options: dict[str, Any]) -> dict[str, Any]:
    """For pydantic: whether the options are named as fields are, and within bounds."""
    if len(options) > _MOST_OPTIONS:
        raise refusal(f"must have at most {_MOST_OPTIONS} fields")
    for name in options:
        if not NAME.fullmatch(name):
            raise refusal("must have names of 1 to 64 letters, digits, '_', '-' or '.'")
    for name, value in options.items():
        if _is_deeper(value, _DEPTH):
            raise refusal(f"must be nested at most {_DEPTH} deep", at=name)
    if len(orjson.dumps(options)) > _MOST_BYTES:
        raise refusal(f"must have at most {_MOST_BYTES} bytes as JSON")
    return options


def options_bytes(options: Json) -> int:
    """How long the options are as JSON."""
    return len(orjson.dumps(options)) if options else 0


def takes(allowed: Iterable[str], name: str) -> bool:
    """Whether an option is one of those that a backend's row allows."""
    return any(entry in (ANY, name) for entry in allowed)


def place_of(name: str) -> str:
    """The path of an option in its request."""
    return f"{FIELD}.{name}"


def added(body: Json, options: Json) -> Json:
    """The body of a backend's request with the request's options in it, their values as they came.

    What the service sets itself is nobody's to set: `OWN_FIELDS`, and whatever is in the body already. Servers take
    names for equal that differ in letters' case or in underscores, so these count for nothing. Raises `ProtocolError`
    400 naming the option.
    """
    if not options:
        return body
    taken = _OWN | {_bare(name) for name in body}
    for name in options:
        if _bare(name) in taken:
            raise _taken(name)
    return {**body, **options}


def with_defaults(body: Json, defaults: Json) -> Json:
    """The body with the default options of the backend's row, but for those that the request has set, in any spelling.

    Raises LookupError naming one that is the service's own: the row is wrong.
    """
    if not defaults:
        return body
    if own := _own(defaults):
        raise LookupError(f"the backend's default option '{own}' is the service's to set")
    taken = {_bare(name) for name in body}
    return {**{name: value for name, value in defaults.items() if _bare(name) not in taken}, **body}


def fault_of_defaults(options: Any) -> str:
    """What is wrong with the default options of a backend's row, as sentences; empty where nothing is."""
    if not isinstance(options, dict):
        return 'This must be a JSON object: {"top_k": 40}.'
    try:
        refuse_uncarriable(options)
        check_options(options)
    except ProtocolError as error:
        return error.message
    except PydanticCustomError as error:
        name = (error.context or {}).get("at")
        return f"{'This' if name is None else repr(name)} {error.message()}."
    own = _own(options)
    return (
        f"'{own}' cannot be a default option: this service sets it, of each request's own fields."
        if own
        else ""
    )


def _own(options: Json) -> str | None:
    """The first of the options that is the service's own, whatever the format: see `own_fields`."""
    return next((name for name in options if _bare(name) in _OWN), None)


def _taken(name: str) -> ProtocolError:
    return invalid_request(
        f"'{name}' cannot be a backend option: this service sets it for this model's backend, of the request's other "
        "fields.",
        param=place_of(name),
        code="unsupported_value",
    )


def _bare(name: str) -> str:
    return re.sub("[_.-]", "", name).lower()


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    entries = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(entry, levels - 1) for entry in entries)


_OWN: Final = frozenset(map(_bare, OWN_FIELDS))
