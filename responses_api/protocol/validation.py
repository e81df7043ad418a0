"""From a failed validation to one clear sentence and an exact path.

Union branches carry tags that begin with `~`, so that the path in the error can be told from the path in the
body; the branch is chosen by the `type` the client wrote, so the first error is the most specific one.
"""

from collections.abc import Callable
from typing import Any

import orjson
from pydantic import BeforeValidator, Discriminator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted

TAG = "~"
STRING = "~string"
LIST = "~list"
FOREIGN = "~foreign"
UNKNOWN_TYPE = "~type"

TEXT_LIMIT = 10_485_760
INTEGER_LIMIT = 2**53 - 1
"""The largest integer that every reader of JSON keeps as it is."""
NAME_PATTERN = r"^[A-Za-z0-9_-]{1,64}$"

_UNSUPPORTED = "unsupported_value"
_MISSING = "missing_required_parameter"
_WRONG_TYPE = "invalid_type"
_WRONG_VALUE = "invalid_value"
_CODES = {_UNSUPPORTED, _MISSING, _WRONG_TYPE, _WRONG_VALUE}

# pydantic's error type -> (code, predicate); the predicate follows the path in the sentence.
_SENTENCES: dict[str, tuple[str, str]] = {
    "missing": (_MISSING, "is required"),
    "string_type": (_WRONG_TYPE, "must be a string"),
    "int_type": (_WRONG_TYPE, "must be an integer"),
    "int_from_float": (_WRONG_TYPE, "must be an integer"),
    "float_type": (_WRONG_TYPE, "must be a number"),
    "bool_type": (_WRONG_TYPE, "must be true or false"),
    "list_type": (_WRONG_TYPE, "must be a list"),
    "dict_type": (_WRONG_TYPE, "must be an object"),
    "extra_forbidden": (_UNSUPPORTED, "is no field that this server knows there"),
    "finite_number": (_WRONG_VALUE, "must be a finite number"),
    "literal_error": (_UNSUPPORTED, "must be {expected}"),
    "string_too_long": (_WRONG_VALUE, "must have at most {max_length} characters"),
    "string_pattern_mismatch": (_WRONG_VALUE, "must match {pattern}"),
    "too_long": (_WRONG_VALUE, "must have at most {max_length} entries"),
    "too_short": (_WRONG_VALUE, "must have at least {min_length} entry"),
    "greater_than_equal": (_WRONG_VALUE, "must be at least {ge:.16g}"),
    "less_than_equal": (_WRONG_VALUE, "must be at most {le:.16g}"),
    "string_too_short": (_WRONG_VALUE, "must not be empty"),
}


def refusal(predicate: str, *, at: str | None = None, code: str = _WRONG_VALUE) -> PydanticCustomError:
    """An error to raise inside a validator: `predicate` completes "'<path>' …".

    `at` is a key below the path that pydantic knows.
    """
    # The code travels as the error's type, the predicate as its message: both come back in `ErrorDetails`.
    context: dict[str, Any] = {"predicate": predicate}
    if at is not None:
        context["at"] = at
    return PydanticCustomError(code, "{predicate}", context)


def unsupported(predicate: str, *, at: str | None = None) -> PydanticCustomError:
    """Like `refusal`, for what is well formed but not offered here."""
    return refusal(predicate, at=at, code=_UNSUPPORTED)


def branch(choose: Callable[[Any], str | None], otherwise: str) -> Discriminator:
    """A union whose branch `choose` names; where it names none, the value `otherwise` (a predicate)."""
    return Discriminator(
        choose,
        custom_error_type=_WRONG_TYPE,
        custom_error_message=otherwise,
    )


def choose_by_type(*kinds: str, others: bool = False) -> Callable[[Any], str | None]:
    """Names the branch of an object by its `type`: each kind has the tag `~kind`.

    With `others`, all other types have the tag `~foreign`. Else, and where the type is no string, it is `~type`: a
    branch that only checks `type`, and so complains about it.
    """
    tags = {kind: TAG + kind for kind in kinds}

    def choose(value: Any) -> str | None:
        if not isinstance(value, dict):
            return None
        kind = value.get("type")
        if not isinstance(kind, str):
            return UNKNOWN_TYPE
        tag = tags.get(kind)
        if tag is None:
            tag = FOREIGN if others and kind else UNKNOWN_TYPE
        return tag

    return choose


def by_type(*kinds: str, others: bool = False) -> Discriminator:
    """A union of objects told apart by `type`; see `choose_by_type` for the tags."""
    return branch(choose_by_type(*kinds, others=others), "must be an object")


def is_vendor_type(kind: str) -> bool:
    """Whether an item or tool type has a vendor's prefix, as in `acme:thing`."""
    prefix, _, name = kind.partition(":")
    return bool(prefix and name)


def other_type(*kinds: str) -> Json:
    """The schema of all types but these."""
    return {"type": "string", "pattern": rf"^(?!(?:{'|'.join(kinds)})$)[\s\S]+"}


def of_other_type(description: str, *kinds: str) -> WithJsonSchema:
    """The schema of an object of any type but `kinds`, of which nothing else is known."""
    return WithJsonSchema(
        {
            "type": "object",
            "description": description,
            "properties": {"type": other_type(*kinds)},
            "required": ["type"],
            "additionalProperties": True,
        }
    )


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 16.0 is the integer 16, and some clients write it so."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= INTEGER_LIMIT:
        return int(value)
    return value


WHOLE = BeforeValidator(_whole)
"""For integers: takes those that are written with a fraction of zero."""


def string_or_list(what: str) -> Discriminator:
    """A union of `~string` and `~list`; anything else must be a string or a list of `what`."""

    def choose(value: Any) -> str | None:
        if isinstance(value, str):
            return STRING
        return LIST if isinstance(value, list) else None

    return branch(choose, f"must be a string or a list of {what}")


def to_protocol_error(failure: ValidationError, at: str = "") -> ProtocolError:
    """The first error of a failed validation, as a 400 with its path; `at` is where what was validated stands."""
    first = failure.errors(include_url=False, include_input=False)[0]
    context = first.get("ctx", {})
    path = path_of(first["loc"], at)
    below = context.get("at")
    if below is not None:
        path = _below(path, below)
    code, predicate = _sentence(first, context)
    return invalid_request(f"'{path}' {predicate}.", param=path, code=code)


def path_of(location: tuple[int | str, ...], path: str = "") -> str:
    """`("input", "~list", 2, "~message", "content")` as `input[2].content`, below `path`."""
    for step in location:
        if isinstance(step, int) or not step.startswith(TAG):
            path = _below(path, step)
    return path


def _below(path: str, step: int | str) -> str:
    """The path of an entry or a field. A key may be the client's own choice: it is quoted."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{quoted(step)}" if path else quoted(step)


def _sentence(error: ErrorDetails, context: dict[str, Any]) -> tuple[str, str]:
    if error["type"] in _CODES:
        return error["type"], error["msg"]
    code, predicate = _SENTENCES.get(error["type"], (_WRONG_VALUE, "is not valid"))
    return code, predicate.format_map(context)


# The body is wrapped this deep again when it becomes part of a job and of an event.
_MARGIN = 8
_NUL = b"\\u0000"


def refuse_uncarriable(body: Any) -> None:
    """Refuse what could be read but not stored or sent on: NUL, lone surrogates, bottomless nesting.

    PostgreSQL's text has no NUL. Serialising once is far cheaper than walking the body, so the walk only
    happens when something looks wrong. Raises ProtocolError.
    """
    probe = body
    for _ in range(_MARGIN):
        probe = [probe]
    try:
        if _NUL not in orjson.dumps(probe):
            return
    except TypeError:
        _blame(body)
        raise invalid_request("The request body is nested too deeply.", code=_WRONG_VALUE) from None
    _blame(body)


def _blame(body: Any) -> None:
    """Find the first string or number that cannot be carried and refuse it by its path."""
    pending: list[tuple[str, Any]] = [("", body)]
    while pending:
        path, value = pending.pop()
        reason = _uncarriable(value)
        if reason:
            raise invalid_request(f"'{path}' {reason}.", param=path or None, code=_WRONG_VALUE)
        if isinstance(value, list):
            pending.extend((_below(path, index), entry) for index, entry in reversed(list(enumerate(value))))
        elif isinstance(value, dict):
            for key, entry in reversed(value.items()):
                key_reason = _uncarriable(key)
                if key_reason:
                    owner = f"'{path}'" if path else "the body"
                    message = f"A key of {owner} {key_reason}."
                    raise invalid_request(message, param=path or None, code=_WRONG_VALUE)
                pending.append((_below(path, key), entry))


def _uncarriable(value: Any) -> str | None:
    if isinstance(value, str):
        if "\0" in value:
            return "contains the character U+0000, which cannot be stored"
        if any("\ud800" <= character <= "\udfff" for character in value):
            return "contains a lone surrogate, which is not valid Unicode"
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        return "is a number beyond 64 bits"
    return None
