"""Receipts as a model reads them: it called a function, and got what came of it.

The one translation of what tools of the service's own left in a conversation: of a receipt that a client sends back, of
a chain, of the round before within a response, of a response that is taken up again. Whatever the wire format, models
know function calls and their outputs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final

from responses_api.protocol.approvals import Answered, approvals
from responses_api.protocol.errors import invalid_request
from responses_api.protocol.function_names import LONGEST, fit_letters
from responses_api.protocol.given_receipts import SENT_ID, known_id, receipt_type
from responses_api.protocol.hosted import Declaration, Replayed, by_receipt, failure_told
from responses_api.protocol.items import ITEM_STATE, OPENED_STATE
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import (
    MCP_APPROVAL_REQUEST,
    MCP_CALL,
    canonical_type,
)
from responses_api.protocol.sse import encode

NO_OUTPUT: Final = "The call was not finished; it has no output."
UNREADABLE: Final = "What came of the call cannot be read any more."
NOT_ANSWERED: Final = "The call was not approved (no answer)."
NOT_RUN: Final = "The call was approved, but it was not run."

Names = Mapping[tuple[str, str], str]
"""What functions tools are offered as in a response: (server_label, a hosted tool's type; its own name) → name."""


def as_functions(
    history: Sequence[Json], given: Sequence[Json], declarations: Mapping[str, Declaration], names: Names
) -> tuple[list[Json], list[Json]]:
    """A history and the new input behind it, with every receipt replaced by the function call that it stands for, and
    its output.

    `declarations` are those of the hosted tools, by their types; `names` what the tools are offered as: one that is not
    among them has its own name. Calls of neighbours come first, then their outputs; pairs may join history and input.
    Lists of tools are left out: what is in them is offered as functions. The same items give the same calls, under the
    same ids.
    """
    translated = _translated([*history, *given], declarations, names)
    border = next(
        (place for place, (source, _) in enumerate(translated) if source >= len(history)), len(translated)
    )
    plain = [item for _, item in translated]
    return plain[:border], plain[border:]


def check_receipts(given: Sequence[Json], declarations: Mapping[str, Declaration]) -> None:
    """Check that what models are told of each receipt in a request's own input can be told.

    Raises `ProtocolError` 400 naming the item: a hosted tool's receipt that makes no sense, or of a type with the
    service's own prefix that it does not know.
    """
    known = by_receipt(declarations.values())
    for index, item in enumerate(given):
        declaration = known.get(canonical_type(item["type"]))
        if declaration is None or _is_of_backend(item):
            _refuse_unknown(item, index)
            continue
        try:
            declaration.replayed(_canonical(item))
        except ValueError as error:
            raise invalid_request(
                f"'input[{index}]' is no receipt of the tool '{declaration.type}': {error}",
                param=f"input[{index}]",
                code="invalid_value",
            ) from None
        except Exception:  # the tool may be a stranger's
            raise invalid_request(
                f"'input[{index}]' is no receipt of the tool '{declaration.type}', as far as that can read it.",
                param=f"input[{index}]",
                code="invalid_value",
            ) from None


def has_receipts(items: Iterable[Json], declarations: Mapping[str, Declaration]) -> bool:
    """Whether any item tells of a tool that the service runs by itself, in either spelling."""
    known = by_receipt(declarations.values())
    return any(_is_receipt(item, known) for item in items)


def _refuse_unknown(item: Json, index: int) -> None:
    kind = str(item["type"])
    if kind.startswith("antiphon:") and receipt_type(item) is None and not _is_of_backend(item):
        raise invalid_request(
            f"'input[{index}].type' names no item of this service: '{kind[:64]}'.",
            param=f"input[{index}].type",
            code="unsupported_value",
        )


def _is_receipt(item: Json, known: Mapping[str, Declaration]) -> bool:
    if receipt_type(item) is not None:
        return True
    return canonical_type(item["type"]) in known and not _is_of_backend(item)


def _is_of_backend(item: Json) -> bool:
    """Whether a model's backend told the item: it has what that knows it by."""
    return ITEM_STATE in item or OPENED_STATE in item


def _canonical(item: Json) -> Json:
    return {**item, "type": canonical_type(item["type"])}


Translated = list[tuple[int, Json]]
"""Items, each with the place of the item that it was made of."""


def _translated(items: Sequence[Json], declarations: Mapping[str, Declaration], names: Names) -> Translated:
    told = approvals(items)
    known = by_receipt(declarations.values())
    teller = _Teller(known, names, told.answered, told.run)
    ids = _CallIds(item["call_id"] for item in items if item["type"] == "function_call")
    line = _Line()
    for place, item in enumerate(items):
        if not _is_receipt(item, known):
            line.take(place, item)
            continue
        for replayed in teller.told(item):
            line.call(place, ids.of(item), replayed)
    line.end_round()
    return line.items


@dataclass(slots=True)
class _Line:
    """The items so far, and the outputs that wait for the last call of their round."""

    items: Translated = field(default_factory=list)
    _outputs: Translated = field(default_factory=list)
    _open: set[str] = field(default_factory=set)

    def take(self, place: int, item: Json) -> None:
        """An item that is no receipt."""
        kind = item["type"]
        if kind == "function_call":
            self._open.add(item["call_id"])
        else:
            # Among calls that the client has yet to answer, other words do not end the round: its outputs would
            # part those calls from their own.
            if kind == "function_call_output" or not self._open:
                self.end_round()
            if kind == "function_call_output":
                self._open.discard(item["call_id"])
        self.items.append((place, item))

    def call(self, place: int, call_id: str, told: Replayed) -> None:
        """What a receipt stands for."""
        call = {
            "type": "function_call",
            "call_id": call_id,
            "name": told.name,
            "arguments": told.arguments,
            "status": "completed",
        }
        self.items.append((place, call))
        output = {
            "type": "function_call_output",
            "call_id": call_id,
            "output": told.output,
            "status": "completed",
        }
        self._outputs.append((place, output))

    def end_round(self) -> None:
        self.items += self._outputs
        self._outputs = []


class _CallIds:
    """Call ids that are made of the receipts', and are like no other in the conversation."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)

    def of(self, item: Json) -> str:
        """The id of the call that a receipt stands for."""
        named = _named(item)
        digest = sha256(named.encode()).hexdigest()[:32]
        found, more = f"call_{digest}", 1
        while found in self._taken:
            more += 1
            found = f"call_{digest}_{more}"
        self._taken.add(found)
        return found


@dataclass(frozen=True, slots=True)
class _Teller:
    """What models are told of each receipt."""

    declarations: Mapping[str, Declaration]
    names: Names
    answered: Mapping[str, Answered]
    run: frozenset[str]

    def told(self, item: Json) -> Iterable[Replayed]:
        """The call and its output; nothing for a receipt that another one stands for."""
        kind = receipt_type(item)
        if kind is None:
            return [self._of_hosted(item)]
        if kind == MCP_CALL:
            name = self._name(item["server_label"], item["name"])
            return [Replayed(name, item["arguments"], _output_of(item))]
        if kind == MCP_APPROVAL_REQUEST and known_id(item) not in self.run:
            answer = self.answered.get(known_id(item))
            name = self._name(item["server_label"], item["name"])
            return [Replayed(name, item["arguments"], _not_run(answer))]
        return []

    def _of_hosted(self, item: Json) -> Replayed:
        declaration = self.declarations[canonical_type(item["type"])]
        try:
            told = declaration.replayed(_canonical(item))
        except Exception:  # of another version of the tool, or a stranger's mistake: the conversation goes on
            return self._unreadable(item, declaration.type)
        return replace(told, name=self._name(declaration.type, told.name))

    def _unreadable(self, item: Json, tool_type: str) -> Replayed:
        offered = (name for (label, _), name in self.names.items() if label == tool_type)
        arguments, error = item.get("arguments"), item.get("error")
        return Replayed(
            next(offered, _plain_name(tool_type)),
            arguments if isinstance(arguments, str) else "{}",
            failure_told(error) if isinstance(error, str) else UNREADABLE,
        )

    def _name(self, label: str, own_name: str) -> str:
        return self.names.get((label, own_name)) or _plain_name(own_name)


def _plain_name(tool_name: str) -> str:
    return fit_letters(tool_name)[:LONGEST] or "_"


def _named(item: Json) -> str:
    """What the id of a receipt's call is made of: the same in a chain and when a client sends it all again."""
    if receipt_type(item) is not None and (item.get(SENT_ID) or item.get("id")):
        return known_id(item)
    # The id that the client knows a hosted tool's receipt by is not kept: what is in it names it.
    told = {name: value for name, value in _canonical(item).items() if name not in ("id", SENT_ID)}
    return encode(told).decode()


def _output_of(call: Json) -> str:
    if call.get("error") is not None:
        return failure_told(call["error"])
    output = call.get("output")
    return NO_OUTPUT if output is None else str(output)


def _not_run(answer: Answered | None) -> str:
    if answer is None:
        return NOT_ANSWERED
    if answer.is_approved:
        return NOT_RUN
    return f"The call was not approved: {answer.reason}" if answer.reason else "The call was not approved."
