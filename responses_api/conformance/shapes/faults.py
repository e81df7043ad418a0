"""From a failed validation to sentences."""

from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from responses_api.protocol.plain import Json


def faults_of(shape: TypeAdapter[Any], value: Json) -> Iterator[str]:
    """What keeps `value` from having this shape, each fault with its path."""
    try:
        shape.validate_python(value, strict=True)
    except ValidationError as failure:
        for error in failure.errors(include_url=False, include_context=False):
            yield f"{'.'.join(map(str, error['loc'])) or 'it'}: {error['msg']} (is {_short(error['input'])})"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
