"""What the emitter keeps with reasoning, and to whom it shows it."""

from typing import Any

import pytest

from responses_api.protocol.errors import model_error
from responses_api.protocol.plain import Json
from responses_api.services.sealed import sealer
from tests.unit.workers.builders import make_job
from tests.unit.workers.told import final, kinds, new_emitter, of_kind, read_back, tell
from workers.backends.parts import CallDelta, ForeignItem, Part, ReasoningDelta, StateReport, Stop, TextDelta
from workers.emitter import Emitter

SHOWN = ["reasoning.encrypted_content"]
STATE = StateReport({"reasoning_content": "Hm"})
THOUGHT = ReasoningDelta("r", "Hm")
YES = TextDelta("t", "Yes")


def seal(item_type: str, content: Any) -> str:
    return f"{item_type}:{content}"


SEALED = seal("reasoning", [STATE.state])


def output(parts: list[Part], **options: Any) -> list[Json]:
    found: list[Json] = final(tell([*parts, Stop("stop")], seal=seal, **options))["output"]
    return found


def test_state_is_shown_with_the_reasoning_it_belongs_to() -> None:
    events = tell([THOUGHT, STATE, YES, Stop("stop")], seal=seal, include=SHOWN)
    added, done = of_kind(events, "output_item.added")[0], of_kind(events, "output_item.done")[0]
    assert "encrypted_content" not in added["item"]
    assert done["item"]["encrypted_content"] == SEALED
    assert final(events)["output"][0] == done["item"]


def test_state_that_nobody_asked_for_is_kept_and_not_shown() -> None:
    emitter = new_emitter(seal=seal)
    emitter.start()
    for part in (THOUGHT, STATE, YES, Stop("stop")):
        emitter.feed(part)
    emitter.finish()
    assert emitter.record["output"][0]["encrypted_content"] == SEALED
    events = read_back(emitter)
    assert "encrypted_content" not in str(events)
    shown = [{**item, "encrypted_content": SEALED} for item in events[-1]["response"]["output"][:1]]
    assert emitter.record["output"][:1] == shown


def test_state_alone_is_reasoning_without_content() -> None:
    (item, message) = output([STATE, YES], include=SHOWN)
    assert item == {
        "type": "reasoning",
        "id": "rs_1",
        "status": "completed",
        "summary": [],
        "encrypted_content": SEALED,
    }
    assert message["type"] == "message"


def test_state_after_the_text_is_an_item_of_its_own() -> None:
    types = [item["type"] for item in output([THOUGHT, YES, STATE, CallDelta(0, "c", "look", "{}")])]
    assert types == ["reasoning", "message", "reasoning", "function_call"]


def test_several_states_of_one_item_are_kept_in_order() -> None:
    other = StateReport({"n": 2})
    (item, _) = output([THOUGHT, STATE, other, YES], include=SHOWN)
    assert item["encrypted_content"] == seal("reasoning", [STATE.state, other.state])


def test_who_generates_it_again_tells_the_same() -> None:
    told = []
    for _ in range(2):
        emitter = new_emitter(seal=sealer(make_job()), include=SHOWN)
        emitter.start()
        for part in (THOUGHT, STATE, YES):
            emitter.feed(part)
        told.append(emitter.drain())
    assert b'"encrypted_content":' in told[0]
    assert told[0] == told[1]


def test_without_a_seal_no_state_is_kept() -> None:
    events = tell([STATE, YES, Stop("stop")])
    assert [item["type"] for item in final(events)["output"]] == ["message"]


@pytest.mark.parametrize("end", [lambda e: e.fail(model_error("It broke.")), Emitter.cancel])
def test_a_response_that_breaks_off_shows_what_it_kept_only_to_who_asked(end: Any) -> None:
    for include in ([], SHOWN):
        events = tell([THOUGHT, STATE], end, seal=seal, include=include)
        assert kinds(events)[-1] in ("failed", "incomplete")
        assert ("encrypted_content" in final(events)["output"][0]) == bool(include)


SEARCHED: Json = {"type": "web_search_call", "id": "ws_up", "status": "completed", "action": {"query": "x"}}


def test_an_item_of_another_type_is_told_under_an_id_of_ours_and_its_own_sealed() -> None:
    begun = {"type": "web_search_call", "id": "ws_up", "status": "searching"}
    parts: list[Part] = [ForeignItem("k", begun), ForeignItem("k", SEARCHED, is_done=True), YES, Stop("stop")]
    events = tell(parts, seal=seal)
    added, done = of_kind(events, "output_item.added")[0], of_kind(events, "output_item.done")[0]
    assert added["item"] == {"type": "web_search_call", "id": "item_1", "status": "in_progress"}
    sealed = {"antiphon:state": seal("item", {"id": "ws_up"})}
    assert done["item"] == {**SEARCHED, "id": "item_1", **sealed}
    assert final(events)["output"][0] == done["item"]


def test_an_item_of_another_type_without_an_id_keeps_nothing() -> None:
    (item,) = output([ForeignItem("k", {"type": "acme:note", "text": "x"}, is_done=True)])
    assert item == {"type": "acme:note", "id": "item_1", "text": "x"}


@pytest.mark.parametrize("status", ["completed", "failed", "incomplete"])
def test_how_it_ended_is_its_upstreams_to_say(status: str) -> None:
    (item,) = output([ForeignItem("k", {**SEARCHED, "status": status}, is_done=True)])
    assert item["status"] == status


def test_what_was_not_done_when_the_answer_was_cut_is_incomplete() -> None:
    events = tell([ForeignItem("k", {**SEARCHED, "status": "searching"}), Stop("length")], seal=seal)
    (item,) = final(events)["output"]
    assert (item["status"], item["id"]) == ("incomplete", "item_1")
