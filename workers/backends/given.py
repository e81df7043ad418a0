"""The items of a conversation as an adapter maps them: each knows where its client finds it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from workers.backends.refusals import unsupported


@dataclass(frozen=True, slots=True)
class Given:
    """An item, and its path in the request; None where it lies in the history."""

    value: Json
    path: str | None

    def refuse(self, what: str, field: str) -> ProtocolError:
        """The 400 for something in this item, `what` in the plural."""
        return unsupported(
            f"{what} are not supported by this model's backend.",
            "input" if self.path is None else self.path + field,
        )


def given_items(context: Sequence[Json], new_from: int) -> Iterator[Given]:
    """The items of a context, of which `context[new_from:]` is the request's own input."""
    for index, value in enumerate(context, -new_from):
        yield Given(value, f"input[{index}]" if index >= 0 else None)


def answers(items: Sequence[Given]) -> dict[int, Given]:
    """The answer to each call, by the call's place: a call id may come again once it is answered."""
    calls: dict[str, int] = {}
    found: dict[int, Given] = {}
    for index, item in enumerate(items):
        value = item.value
        if value["type"] == "function_call":
            calls[value["call_id"]] = index
        elif value["type"] == "function_call_output" and value["call_id"] in calls:
            found[calls[value["call_id"]]] = item
    return found
