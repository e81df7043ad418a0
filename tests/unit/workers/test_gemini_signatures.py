"""Thought signatures come back byte by byte on the very parts they came on, whatever a client does to the rest."""

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from responses_api.protocol.job import STATE
from responses_api.protocol.plain import Json
from responses_api.protocol.response import stored_item
from tests.unit.workers.builders import base_snapshot, counting_ids, event, make_job
from workers.backends.registry import adapter_for
from workers.emitter import Emitter

GEMINI = adapter_for("gemini")
DUMMY = "skip_thought_signature_validator"


def text(words: str, signature: str | None = None) -> Json:
    return signed({"text": words}, signature)


def thought(words: str, signature: str | None = None) -> Json:
    return signed({"text": words, "thought": True}, signature)


def call(name: str, args: Json, signature: str | None = None, call_id: str | None = None) -> Json:
    told = {"name": name, "args": args, **({"id": call_id} if call_id else {})}
    return signed({"functionCall": told}, signature)


def signed(part: Json, signature: str | None) -> Json:
    return {**part, "thoughtSignature": signature} if signature else part


def items_of(*parts: Json, finish: str = "STOP", chunked: bool = True) -> list[Json]:
    """The output items of an answer of these parts, with the state that an adapter gets back opened in them."""
    stream = GEMINI.open_stream(make_job())
    emitter = Emitter(
        base_snapshot(),
        new_id=counting_ids(),
        clock=lambda: 1,
        seal=lambda kind, content: orjson.dumps(content).decode(),
    )
    runs = [[part] for part in parts] if chunked else [list(parts)]
    for run in [*runs, []]:
        candidate: Json = {"content": {"role": "model", "parts": run}}
        if not run:
            candidate["finishReason"] = finish
        for told in stream.feed(event({"candidates": [candidate]})):
            emitter.feed(told)
    for told in stream.close():
        emitter.feed(told)
    emitter.finish()
    return [opened(item) for item in emitter.record["output"]]


def opened(item: Json) -> Json:
    state = item.pop("encrypted_content", None)
    return {**item, STATE: orjson.loads(state)} if state else item


def given_back(items: list[Json], model: str = "gemini-3-flash") -> list[Json]:
    """The contents of a conversation that goes on from these items: every call is answered."""
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "?"}]}
    answers = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}
        for item in items
        if item["type"] == "function_call"
    ]
    history = [stored_item(item, "x") for item in (asked, *items, *answers)]
    contents: list[Json] = GEMINI.build(replace(make_job(history=history), upstream_model=model))["contents"]
    assert [content["role"] for content in contents[:2]] == ["user", "model"]
    return contents[1:]


def parts_back(items: list[Json], model: str = "gemini-3-flash") -> list[Json]:
    parts: list[Json] = given_back(items, model)[0]["parts"]
    return parts


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize(
    "parts",
    [
        [call("look", {"at": "A"}, "s1", "g1")],
        [call("look", {"at": "A"}, "s1", "g1"), call("look", {"at": "B"}, None, "g2")],
        [call("look", {}, "s1", "g1"), call("hear", {}, "s2", "g2")],
        [call("look", {}, None, "g1"), call("look", {}, "s2", "g2")],
        [text("It is 4.", "s1")],
        [text("It is "), text("4.", "s1")],
        [text("It is ", "s1"), text("4.")],
        [text("It is ", "s1"), text("4.", "s2")],
        [text("It is 4."), text("", "s1")],
        [text("It is "), text("", "s1"), text("4.")],
        [text("", "s1"), text("It is 4.")],
        [text("", "s1"), call("look", {}, "s2", "g1")],
        [thought("Hm.", "s1"), text("Yes.")],
        [text("I look: ", "s1"), call("look", {}, "s2", "g1"), text("and then"), text("", "s3")],
        [text("🙂é", "s1"), text("\u2028"), text("漢", "s2")],
        [text("a"), text("a", "s1"), call("look", {}, "s2", "g1"), text("a"), text("a", "s3")],
    ],
)
def test_signed_parts_come_back_as_they_came(parts: list[Json], chunked: bool) -> None:
    back = parts_back(items_of(*parts, chunked=chunked))
    if "functionCall" in back[0] and "thoughtSignature" not in parts[0]:
        assert back[0].pop("thoughtSignature") == DUMMY
    assert back == parts


def test_thoughts_without_a_signature_are_not_told_again() -> None:
    assert parts_back(items_of(thought("Hm."), text("Yes.", "s1"))) == [text("Yes.", "s1")]


def test_an_upstreams_id_comes_back_with_the_call_and_its_answer_even_where_clients_cannot_have_it() -> None:
    long = "g" * 80
    items = items_of(call("look", {}, "s1", long))
    assert items[-1]["call_id"] == "call_2"
    model, user, _ = given_back(items)
    assert model["parts"] == [call("look", {}, "s1", long)]
    assert [part["functionResponse"]["id"] for part in user["parts"]] == [long]


def test_a_call_without_an_id_is_told_apart_by_one_of_ours() -> None:
    items = items_of(call("look", {"at": "A"}, "s1"), call("look", {"at": "B"}))
    ids = [item["call_id"] for item in items if item["type"] == "function_call"]
    assert ids == ["call_1_1", "call_1_2"]
    model, user, _ = given_back(items)
    assert [part["functionCall"]["id"] for part in model["parts"]] == ids
    assert [part["functionResponse"]["id"] for part in user["parts"]] == ids


def test_nothing_of_a_signature_is_in_an_id_or_a_name() -> None:
    items = items_of(thought("Hm."), call("look", {}, "c2VjcmV0"))
    told = json.dumps([{name: value for name, value in item.items() if name != STATE} for item in items])
    assert "c2VjcmV0" not in told


@pytest.mark.parametrize("finish", ["MAX_TOKENS", "SAFETY"])
def test_the_signature_of_a_text_that_was_cut_short_is_not_kept(finish: str) -> None:
    items = items_of(text("It is "), text("", "s1"), finish=finish)
    assert [(item["type"], item["status"]) for item in items] == [("message", "incomplete")]


# ---------------------------------------------------------------- what clients do


def test_calls_that_a_client_reorders_keep_their_own_signatures() -> None:
    items = items_of(call("look", {"at": "A"}, "s1", "g1"), call("look", {"at": "B"}, "s2", "g2"))
    assert [item["type"] for item in items] == ["reasoning", "function_call"] * 2
    first, a, second, b = items
    for order in ([first, second, b, a], [second, first, a, b], [b, a, first, second]):
        back = {part["functionCall"]["id"]: part["thoughtSignature"] for part in parts_back(order)}
        assert back == {"g1": "s1", "g2": "s2"}


def test_a_call_whose_reasoning_was_dropped_gets_the_signature_that_stands_for_it() -> None:
    items = items_of(call("look", {}, "s1", "g1"), call("hear", {}, None, "g2"))
    bare = [item for item in items if item["type"] != "reasoning"]
    assert parts_back(bare) == [call("look", {}, DUMMY, "g1"), call("hear", {}, None, "g2")]
    assert parts_back(bare, "gemini-2.5-flash") == [
        call("look", {}, None, "g1"),
        call("hear", {}, None, "g2"),
    ]


def test_reasoning_without_its_state_says_nothing() -> None:
    items = items_of(thought("Hm."), call("look", {}, "s1", "g1"))
    foreign = [{name: value for name, value in item.items() if name != STATE} for item in items]
    assert parts_back(foreign) == [call("look", {}, DUMMY, "g1")]


def test_a_signature_goes_with_the_call_that_a_client_dropped() -> None:
    items = items_of(call("look", {"at": "A"}, "s1", "g1"), call("look", {"at": "B"}, None, "g2"))
    without = [item for item in items if item.get("call_id") != "g1"]
    assert parts_back(without) == [call("look", {"at": "B"}, DUMMY, "g2")]


@pytest.mark.parametrize("arguments", ['{"at": "C"}', "not JSON"])
def test_a_signature_is_not_put_on_a_call_that_was_edited(arguments: str) -> None:
    items = items_of(call("look", {"at": "A"}, "s1", "g1"))
    items[-1]["arguments"] = arguments
    assert parts_back(items)[0]["thoughtSignature"] == DUMMY


def test_arguments_that_were_only_written_anew_are_the_same() -> None:
    items = items_of(call("look", {"at": "A", "n": 1.0}, "s1", "g1"))
    items[-1]["arguments"] = '{ "n":1.0 ,"at":"\\u0041" }'
    assert parts_back(items)[0]["thoughtSignature"] == "s1"


def test_a_signature_is_not_put_on_a_text_that_was_edited() -> None:
    items = items_of(text("It is "), text("4.", "s1"))
    items[0]["content"][0]["text"] = "It is 5."
    assert parts_back(items) == [text("It is 5.")]
    items[0]["content"][0]["text"] = "It"
    assert parts_back(items) == [text("It")]


def test_signatures_of_different_turns_stay_apart() -> None:
    first = items_of(call("look", {}, "s1", "g1"))
    second = items_of(call("look", {}, "s2", "g1"))
    answer = {"type": "function_call_output", "call_id": "g1", "output": "ok"}
    contents = given_back([*first, answer, *second])
    turns = [content["parts"] for content in contents if content["role"] == "model"]
    assert turns == [[call("look", {}, "s1", "g1")], [call("look", {}, "s2", "g1")]]


# ---------------------------------------------------------------- any turn

signatures = st.none() | st.text("ABCdef+/=", min_size=1, max_size=6)
words = st.text("ab é🙂\u2028", max_size=3)
any_part = st.one_of(
    st.builds(text, words, signatures),
    st.builds(thought, words, signatures),
    st.builds(
        call,
        st.sampled_from(["look", "hear"]),
        st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)),
        signatures,
    ),
)


@given(parts=st.lists(any_part, min_size=1, max_size=6), chunked=st.booleans())
@example(parts=[text("a"), thought(""), text("b"), text("", "s")], chunked=True)
def test_whatever_a_turn_is_made_of_all_its_signatures_come_back_in_order(
    parts: list[Json], chunked: bool
) -> None:
    items = items_of(*parts, chunked=chunked)
    if not items:
        return
    back = [bare(part) for part in parts_back(items)] if any(map(is_told, parts)) else []
    assert [part for part in back if "thoughtSignature" in part] == [
        bare(part) for part in parts if "thoughtSignature" in part
    ]
    assert said(back) == said(parts)


def is_told(part: Json) -> bool:
    """Whether anything of the part comes back."""
    return (
        "thoughtSignature" in part or "functionCall" in part or bool(part["text"] and not part.get("thought"))
    )


def bare(part: Json) -> Json:
    """The part without an id of ours, and without the signature that stands for none."""
    if "functionCall" in part:
        named = {name: part["functionCall"][name] for name in ("name", "args")}
        part = {**part, "functionCall": named}
    return {name: value for name, value in part.items() if value != DUMMY}


def said(parts: list[Any]) -> list[Any]:
    """What was said and called, in its order, however the texts are cut."""
    told: list[Any] = []
    for part in parts:
        if part.get("thought"):
            continue
        words = part.get("text")
        if words is None:
            told.append(part["functionCall"]["name"])
        elif told and told[-1][:1] == "=":
            told[-1] += words
        else:
            told.append("=" + words)
    return [words for words in told if words != "="]
