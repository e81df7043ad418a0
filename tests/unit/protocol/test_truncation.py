"""Which turns of a conversation may be dropped, and how much room an answer needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.calls import check_call_pairs
from responses_api.protocol.plain import Json
from responses_api.protocol.truncation import droppable_turns, input_budget


def message(role: str) -> Json:
    return {"type": "message", "role": role, "content": []}


def call(call_id: str) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": ""}


USER, ASSISTANT, SYSTEM, DEVELOPER = map(message, ("user", "assistant", "system", "developer"))
REASONING: Json = {"type": "reasoning", "summary": []}
VENDOR: Json = {"type": "acme:note"}


@pytest.mark.parametrize(
    ("context", "turns"),
    [
        ([], []),
        ([USER], []),
        ([USER, ASSISTANT, USER], [[0, 1]]),
        ([USER, ASSISTANT, USER, ASSISTANT, USER, ASSISTANT], [[0, 1], [2, 3]]),
        # Each message of the user begins a turn.
        ([USER, USER, USER], [[0], [1]]),
        # What stands before the first one is a turn of its own.
        ([ASSISTANT, VENDOR, USER, ASSISTANT], [[0, 1]]),
        ([ASSISTANT, VENDOR], []),
        # Instructions stay, wherever they stand.
        ([SYSTEM, USER, DEVELOPER, ASSISTANT, SYSTEM, USER], [[1, 3]]),
        ([SYSTEM, DEVELOPER], []),
        # A whole round of calls belongs to its turn.
        (
            [USER, REASONING, call("a"), call("b"), output("b"), output("a"), ASSISTANT, USER],
            [[0, 1, 2, 3, 4, 5, 6]],
        ),
        # A call that is answered in a later turn joins all turns from its own on.
        ([USER, USER, call("a"), USER, output("a"), USER], [[0], [1, 2, 3, 4]]),
        (
            [USER, call("a"), USER, call("b"), output("a"), USER, output("b"), USER, USER],
            [[0, 1, 2, 3, 4, 5, 6], [7]],
        ),
        ([call("a"), USER, output("a"), USER], [[0, 1, 2]]),
        # A call id may come again.
        ([USER, call("a"), output("a"), USER, call("a"), output("a"), USER], [[0, 1, 2], [3, 4, 5]]),
        # What answers a call that is not there any more belongs where it stands.
        ([USER, output("z"), USER], [[0, 1]]),
    ],
)
def test_turns(context: list[Json], turns: list[list[int]]) -> None:
    assert droppable_turns(context) == turns


@st.composite
def conversations(draw: st.DrawFn) -> list[Json]:
    """Conversations in which every call is answered, at once or much later."""
    context: list[Json] = []
    open_calls: list[str] = []
    for number, kind in enumerate(draw(st.lists(st.integers(0, 6), max_size=40))):
        if kind < 5:
            context.append([USER, ASSISTANT, SYSTEM, REASONING, VENDOR][kind])
        elif kind == 5:
            open_calls.append(f"call_{number}")
            context.append(call(open_calls[-1]))
        elif open_calls:
            context.append(output(open_calls.pop(draw(st.integers(0, len(open_calls) - 1)))))
    return context + [output(call_id) for call_id in open_calls]


@given(conversations(), st.data())
def test_whatever_is_dropped_calls_stay_paired_and_the_newest_turn_and_all_instructions_stay(
    context: list[Json], data: st.DataObject
) -> None:
    turns = droppable_turns(context)
    dropped = {place for turn in turns[: data.draw(st.integers(0, len(turns)))] for place in turn}
    left = [item for place, item in enumerate(context) if place not in dropped]
    check_call_pairs(left, 0)
    assert left.count(SYSTEM) == context.count(SYSTEM)
    users = [place for place, item in enumerate(context) if item is USER]
    assert not users or users[-1] not in dropped
    # Old before new: what is dropped stands before everything that stays, instructions apart.
    kept = [place for place, item in enumerate(context) if place not in dropped and item is not SYSTEM]
    assert not dropped or not kept or max(dropped) < min(kept)


@pytest.mark.parametrize(
    ("window", "max_output_tokens", "budget"),
    [
        (8000, None, 6000),
        (128_000, None, 128_000 - 4096),
        (8000, 1000, 7000),
        (8000, 7999, 1),
        # A wish that leaves nothing for the input is none that can be kept.
        (8000, 8000, 6000),
        (8000, 100_000, 6000),
    ],
)
def test_room_is_left_for_the_answer(window: int, max_output_tokens: int | None, budget: int) -> None:
    assert input_budget(window, max_output_tokens) == budget
