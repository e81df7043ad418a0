"""The pairing of function calls and outputs."""

import pytest

from responses_api.protocol.calls import check_call_pairs
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json

MESSAGE: Json = {"type": "message", "role": "user", "content": []}


def call(call_id: str) -> Json:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": ""}


@pytest.mark.parametrize(
    "context",
    [
        [],
        [MESSAGE],
        [call("a"), output("a")],
        [call("a"), call("b"), output("b"), output("a")],
        [call("a"), output("a"), MESSAGE, call("a"), output("a")],
        [call("a"), MESSAGE, output("a"), {"type": "acme:thing"}],
    ],
)
def test_paired_calls_are_accepted(context: list[Json]) -> None:
    check_call_pairs(context, 0)


@pytest.mark.parametrize(
    ("context", "new_from", "param", "fault"),
    [
        ([output("a")], 0, "input[0].call_id", "answers no function call"),
        ([call("a"), output("a"), output("a")], 1, "input[1].call_id", "answers no function call"),
        ([output("a"), call("a")], 0, "input[0].call_id", "answers no function call"),
        ([MESSAGE, call("a")], 1, "input[0].call_id", "has no function_call_output"),
        ([call("a"), MESSAGE], 1, "input", "has no function_call_output"),
        ([call("a"), call("a"), output("a")], 0, "input[1].call_id", "two calls"),
    ],
)
def test_an_unpaired_call_is_refused_by_its_id(
    context: list[Json], new_from: int, param: str, fault: str
) -> None:
    with pytest.raises(ProtocolError, match=fault) as caught:
        check_call_pairs(context, new_from)
    assert caught.value.status == 400
    assert caught.value.param == param
    assert "'a'" in caught.value.message
