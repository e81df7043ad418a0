"""What a hosted tool declares of itself: all that the service must know of one to validate, judge, tell and replay it.

A hosted tool is run by the service's own workers (`workers.tools`); its type has a vendor's prefix (`acme:dice`). The
declaration is pure: the web side reads it, the workers add what runs the tool.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from responses_api.protocol.plain import Json


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a model is told in the place of a receipt: that it called `name` with `arguments`, and got `output`."""

    name: str
    arguments: str
    output: str


def no_citations(receipt: Json) -> dict[str, Json]:
    """Of a tool whose results are not to be cited."""
    return {}


@dataclass(frozen=True, slots=True)
class Declaration:
    """A hosted tool.

    `type` is what requests name it by, `receipt_type` the type of the items that tell its calls. `entry` is the type
    (a `TypedDict` for pydantic) of its entry in a request's `tools`, `type` included. `function` makes of an entry the
    function that the model is offered: name, description, JSON Schema of the parameters. `replayed` makes of a
    receipt, which a client may have sent back, what the model is told of it, also right after the call: it raises
    ValueError for one that makes no sense. `citations` says what the marks in that output stand for: mark → annotation
    without its place.
    """

    type: str
    receipt_type: str
    entry: Any
    function: Callable[[Json], Json]
    replayed: Callable[[Json], Replayed]
    citations: Callable[[Json], dict[str, Json]] = no_citations


def by_receipt(declarations: Iterable[Declaration]) -> dict[str, Declaration]:
    """The declarations by the types of their receipts."""
    return {declaration.receipt_type: declaration for declaration in declarations}


def plainly_replayed(name: str) -> Callable[[Json], Replayed]:
    """`Declaration.replayed` of a tool that is offered as `name` and whose receipts have `arguments`, `output` and
    `error`, each a string or null.
    """

    def replayed(receipt: Json) -> Replayed:
        arguments, output, error = (receipt.get(field) for field in ("arguments", "output", "error"))
        if not isinstance(arguments, str):
            raise ValueError("'arguments' must be a string")
        for field, value in (("output", output), ("error", error)):
            if not isinstance(value, str | None):
                raise ValueError(f"'{field}' must be a string or null")
        return Replayed(name, arguments, failure_told(error) if error is not None else output or "")

    return replayed


def failure_told(error: str) -> str:
    """What a model is told of a call that failed; `error` is a sentence."""
    return f"The call failed: {error}"
