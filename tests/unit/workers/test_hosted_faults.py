"""A hosted tool may be a stranger's: what is wrong with it is its call's failure, never the response's."""

import uuid
from collections.abc import Callable
from typing import Any, Literal

import pytest
from typing_extensions import TypedDict

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.hosted import Declaration, Replayed, plainly_replayed
from responses_api.protocol.plain import Json
from responses_api.protocol.replay import UNREADABLE, as_functions, check_receipts
from workers.tools.citing import citable
from workers.tools.hosted import HostedCall, HostedProvider, HostedResult, HostedTool
from workers.tools.provider import Ran, Setting

NAMES = {("acme:dice", "roll"): "acme_dice__roll"}


class Entry(TypedDict):
    type: Literal["acme:dice"]


def function(entry: Json) -> Json:
    return {"type": "function", "name": "roll", "description": None, "parameters": {}, "strict": None}


def strictly(receipt: Json) -> Replayed:
    """As somebody may write it who never saw a receipt that failed."""
    return Replayed("roll", receipt["arguments"], receipt["output"].upper())


def marks(receipt: Json) -> dict[str, Json]:
    return {receipt["mark"]: {"type": "url_citation"}}


def declared(replayed: Callable[[Json], Replayed] = strictly, **fields: Any) -> Declaration:
    return Declaration("acme:dice", "acme:dice_roll", Entry, function, replayed, **fields)


class Dice(HostedTool):
    declaration = declared()

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    async def run(self, call: HostedCall) -> HostedResult:
        return HostedResult(self.fields)


class Forgetful(Dice):
    def begun(self, arguments: Json) -> Json:
        return {"arguments": arguments["missing"]}


async def run(tool: HostedTool) -> Ran:
    provider = HostedProvider(tool, Setting(uuid.uuid4(), uuid.uuid4(), "resp_1", {"type": "acme:dice"}))
    assert provider.begun(provider.offered[0], "{}")["status"] == "in_progress"
    return await provider.run(provider.offered[0], '{"count":1}', lambda step: None)


def replayed(receipt: Json, declaration: Declaration) -> list[Json]:
    item = {**receipt, "id": "item_1"}
    _, given = as_functions([], [item], {declaration.type: declaration}, NAMES)
    return given


async def test_a_result_that_its_tool_cannot_read_is_a_failed_call() -> None:
    ran = await run(Dice(output=7))
    assert (ran.has_failed, ran.receipt["error"]) == (True, "The tool failed.")


async def test_a_failed_call_that_its_tool_cannot_read_is_told_to_the_model_as_failed() -> None:
    ran = await run(Dice(output=7))
    call, output = replayed(ran.receipt, Dice.declaration)
    assert (call["name"], call["arguments"]) == ("acme_dice__roll", '{"count":1}')
    assert output["output"] == "The call failed: The tool failed."


async def test_a_result_that_a_later_version_cannot_read_is_told_to_the_model_as_that() -> None:
    ran = await run(Dice(output="six"))
    assert not ran.has_failed
    _, output = replayed({**ran.receipt, "output": None}, Dice.declaration)
    assert output["output"] == UNREADABLE


async def test_a_tool_that_cannot_begin_a_receipt_has_the_usual_one() -> None:
    ran = await run(Forgetful(output="six"))
    assert (ran.has_failed, ran.receipt["arguments"]) == (False, '{"count":1}')


async def test_a_tool_does_not_say_what_type_its_receipt_is_of_and_how_it_ended() -> None:
    ran = await run(Dice(output="six", type="message", status="queued", error="none"))
    assert {name: ran.receipt[name] for name in ("type", "status", "error")} == {
        "type": "acme:dice_roll",
        "status": "completed",
        "error": None,
    }


def test_what_a_receipt_cites_and_nobody_can_read_is_not_cited() -> None:
    declaration = declared(plainly_replayed("roll"), citations=marks)
    assert citable(
        [{"type": "acme:dice_roll"}, {"type": "acme:dice_roll", "mark": "[1]"}], [declaration]
    ) == {"[1]": {"type": "url_citation"}}


def test_a_receipt_that_its_tool_falls_over_is_refused_by_name() -> None:
    with pytest.raises(ProtocolError, match=r"'input\[0\]' is no receipt of the tool 'acme:dice'") as refused:
        check_receipts([{"type": "acme:dice_roll"}], {"acme:dice": declared()})
    assert (refused.value.status, refused.value.param) == (400, "input[0]")
