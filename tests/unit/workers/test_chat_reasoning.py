"""Reasoning of Chat Completions servers: what goes into the state, and how it comes back."""

from typing import Any

import pytest

from responses_api.protocol.job import STATE
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import DONE, chunk, make_job
from workers.backends.chat_completions.stream import ChatStream
from workers.backends.parts import Part, ReasoningDelta, StateReport
from workers.backends.registry import adapter_for

CALL: Json = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}
STOP = chunk(finish="stop") + DONE


def read(*deltas: Json, cuts: int | None = None) -> list[Part]:
    raw = b"".join(chunk(delta) for delta in deltas) + STOP
    stream = ChatStream()
    pieces = [raw] if cuts is None else [raw[at : at + cuts] for at in range(0, len(raw), cuts)]
    return [part for piece in pieces for part in stream.feed(piece)] + stream.close()


def states(parts: list[Part]) -> list[Json]:
    return [part.state for part in parts if isinstance(part, StateReport)]


def reasoned(parts: list[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, ReasoningDelta))


def kinds(parts: list[Part]) -> list[str]:
    return [type(part).__name__ for part in parts]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("cuts", [None, 7])
def test_text_comes_back_under_the_name_it_came_by(field: str, cuts: int | None) -> None:
    parts = read({field: "Hm"}, {field: "m."}, {"content": "Yes"}, cuts=cuts)
    assert states(parts) == [{field: "Hmm."}]
    assert kinds(parts) == ["ReasoningDelta", "ReasoningDelta", "StateReport", "TextDelta", "Stop"]


def test_the_state_comes_before_a_call_that_ends_the_reasoning() -> None:
    parts = read({"reasoning_content": "Look."}, {"tool_calls": [CALL]})
    assert kinds(parts) == ["ReasoningDelta", "StateReport", "CallDelta", "Stop"]


def test_pieces_of_a_block_become_the_block_again() -> None:
    parts = read(
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Al", "signature": None}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "pha"}]},
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "c2ln", "format": "x"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "ZGF0YQ=="}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "bW9yZQ=="}]},
        {"tool_calls": [CALL]},
    )
    assert reasoned(parts) == "Alpha"
    assert states(parts) == [
        {
            "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "Alpha", "signature": "c2ln", "format": "x"},
                {"type": "reasoning.encrypted", "index": 1, "data": "ZGF0YQ=="},
                {"type": "reasoning.encrypted", "index": 1, "data": "bW9yZQ=="},
            ]
        }
    ]


def test_text_after_a_signature_is_another_block() -> None:
    parts = read(
        {"reasoning_details": [{"type": "reasoning.text", "text": "one", "signature": "s1"}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "two", "signature": "s2"}]},
    )
    (state,) = states(parts)
    assert [(block["text"], block["signature"]) for block in state["reasoning_details"]] == [
        ("one", "s1"),
        ("two", "s2"),
    ]


def test_blocks_that_do_not_hold_all_of_the_text_come_back_with_it() -> None:
    block = {"type": "reasoning.text", "text": "Al"}
    parts = read({"reasoning": "Al", "reasoning_details": [block]}, {"reasoning": "pha"}, {"content": "B"})
    assert reasoned(parts) == "Alpha"
    assert states(parts) == [{"reasoning_details": [block], "reasoning": "Alpha"}]
    parts = read({"reasoning": "Al", "reasoning_content": "Al", "reasoning_details": [block]})
    assert states(parts) == [{"reasoning_details": [block]}]


def test_state_that_comes_after_the_text_is_not_lost() -> None:
    late = {"type": "reasoning.encrypted", "data": "ZGF0YQ=="}
    parts = read({"reasoning": "Hm"}, {"content": "Yes"}, {"content": "", "reasoning_details": [late]})
    assert states(parts) == [{"reasoning": "Hm"}, {"reasoning_details": [late]}]


def test_an_answer_without_reasoning_has_no_state() -> None:
    assert states(read({"content": "Yes", "reasoning": "", "reasoning_details": []})) == []
    assert states(read({"content": "Yes", "reasoning_content": None, "reasoning_details": "no"})) == []


def test_text_that_cannot_be_carried_is_mended() -> None:
    stream = ChatStream()
    delta = b'{"reasoning_content":"a\\ud83d"}', b'{"reasoning_content":"\\ude00b\\udc00"}'
    raw = b"".join(b'data: {"choices":[{"delta":%b}]}\n\n' % piece for piece in delta) + STOP
    parts = stream.feed(raw) + stream.close()
    assert states(parts) == [{"reasoning_content": "a😀b\ufffd"}]


# ---------------------------------------------------------------- the way back

THOUGHT = {"reasoning_content": "I need the tool."}


def thought(*given: Json, item_id: str = "rs_1") -> Json:
    return {"type": "reasoning", "id": item_id, "summary": [], STATE: list(given)}


def call_item(call_id: str = "c1") -> Json:
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": "look", "arguments": "{}"}


def output_item(call_id: str = "c1") -> Json:
    return {"type": "function_call_output", "id": "fco", "call_id": call_id, "output": "4C"}


def said(text: str, role: str = "assistant") -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "id": "msg", "role": role, "content": [{"type": kind, "text": text}]}


def messages(*history: Json, kind: str = "chat_completions") -> list[Json]:
    body: Any = adapter_for(kind).build(make_job(history=list(history), kind=kind))
    found: list[Json] = body["messages"]
    return found


def test_it_goes_back_on_the_message_that_calls() -> None:
    sent = messages(said("Oslo?", "user"), thought(THOUGHT), call_item(), output_item())
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert sent[1]["reasoning_content"] == "I need the tool."
    assert sent[1]["tool_calls"][0]["id"] == "c1"
    assert all("reasoning_content" not in message for message in (sent[0], *sent[2:]))


def test_each_round_gets_its_own() -> None:
    second = {"reasoning_content": "Now I know."}
    sent = messages(
        said("Oslo?", "user"),
        thought(THOUGHT),
        said("Let me look."),
        call_item("c1"),
        output_item("c1"),
        thought(second),
        call_item("c2"),
        output_item("c2"),
        thought({"reasoning_content": "Done."}),
        said("4C."),
    )
    told = [message.get("reasoning_content") for message in sent if message["role"] == "assistant"]
    assert told == ["I need the tool.", "Now I know.", "Done."]
    assert sent[1]["content"] == "Let me look."


def test_what_came_late_goes_back_on_the_message_before_it() -> None:
    block: Json = {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}
    sent = messages(thought(THOUGHT), said("Yes."), thought(block), said("Why?", "user"))
    assert sent[0] == {"role": "assistant", "content": "Yes.", **THOUGHT, **block}


def test_states_of_one_message_follow_each_other() -> None:
    one: Json = {"reasoning_details": [{"data": "1"}], "reasoning": "a"}
    two: Json = {"reasoning_details": [{"data": "2"}], "reasoning": "b"}
    sent = messages(thought(one, two), call_item(), output_item())
    assert sent[0]["reasoning_details"] == [{"data": "1"}, {"data": "2"}]
    assert sent[0]["reasoning"] == "ab"
    assert one["reasoning_details"] == [{"data": "1"}], "the item itself is left as it is"


def test_reasoning_without_a_message_of_its_turn_is_left_out() -> None:
    sent = messages(said("Oslo?", "user"), thought(THOUGHT), said("Hello?", "user"), said("Yes."))
    assert all("reasoning_content" not in message for message in sent)


def test_openai_itself_never_gets_fields_that_it_does_not_know() -> None:
    sent = messages(thought(THOUGHT), call_item(), output_item(), kind="openai_chat_completions")
    assert "reasoning_content" not in sent[0]


def test_replayed_reasoning_without_state_is_never_sent() -> None:
    item = {**thought(), "content": [{"type": "reasoning_text", "text": "secret chain"}]}
    assert "secret chain" not in str(messages(item, call_item(), output_item()))
