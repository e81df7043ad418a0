"""Calls that are left out: nothing of them is told, however they come, and a second attempt tells the same."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.conformance.stream import assert_stream
from responses_api.protocol.admission import CallAdmission, call_admission
from responses_api.protocol.plain import Json
from responses_api.protocol.policy_reading import read_policy
from responses_api.protocol.request import parse_create
from responses_api.protocol.score import perform
from responses_api.protocol.sse import DONE, frames_to_data
from tests.unit.workers.builders import base_snapshot
from tests.unit.workers.told import final, new_emitter
from workers.backends.parts import (
    CallDelta,
    ForeignItem,
    Part,
    ReasoningDelta,
    RefusedCall,
    StateReport,
    Stop,
    TextDelta,
    UsageReport,
)
from workers.emitter import Emitter
from workers.retelling import Diverged, Retelling
from workers.screening import Screen

END: tuple[Part, ...] = (UsageReport(7, 5), Stop("tool_calls"))
SECRET = "XYZZY"


def admission(on_violation: str = "suppress", **fields: Any) -> CallAdmission:
    """Everything may be called but `bad`."""
    tools = [{"type": "function", "name": name} for name in ("good", "bad", "other")]
    request = parse_create({"model": "m", "input": "hi", "tools": tools, **fields})
    rules = [{"id": "no-bad", "effect": "deny", "tool": "bad"}]
    policy = read_policy({"rules": rules, "on_violation": on_violation}, version=4)
    return call_admission(request, (policy,))


def call(key: int, name: str | None = None, arguments: str = "", call_id: str | None = None) -> CallDelta:
    return CallDelta(key, call_id, name, arguments)


def play(
    emitter: Emitter, parts: Sequence[Part], rules: CallAdmission, retelling: Retelling | None = None
) -> bytes:
    """Run parts as a worker does, one at a time; returns what is newly told."""
    screen = Screen(rules)
    fit = retelling.refit if retelling else tuple
    rest = retelling.rest if retelling else bytes
    emitter.start()
    said = rest(emitter.drain())
    for part in (*parts, *END):
        for fitted in fit(screen.admitted([part])):
            emitter.feed(fitted)
        said += rest(emitter.drain())
    for fitted in fit(screen.unnamed()):
        emitter.feed(fitted)
    emitter.finish()
    return said + rest(emitter.drain())


def told(parts: Sequence[Part], **fields: Any) -> tuple[list[Json], Emitter]:
    rules = admission(**fields)
    emitter = new_emitter(admission=rules)
    said = play(emitter, parts, rules)
    raw = said + emitter.terminal() + DONE
    return assert_stream(raw).events, emitter


def test_a_call_that_is_left_out_is_swallowed_piece_by_piece_between_others() -> None:
    events, emitter = told(
        [
            TextDelta("t", "Well"),
            call(0, "good", '{"a"', "c_0"),
            call(1, "bad", '{"s":"XY', "c_1"),
            call(0, None, ":1}"),
            call(1, None, 'ZZY"}'),
            call(2, "other", "{}", "c_2"),
        ]
    )
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    output = final(events)["output"]
    assert [item.get("name") for item in output] == [None, "good", "other"]
    assert [item.get("arguments") for item in output] == [None, '{"a":1}', "{}"]
    assert SECRET not in orjson.dumps(events).decode()
    assert "c_1" not in orjson.dumps(events).decode()
    assert [(one["tool"], one["call_id"], one["effect"]) for one in emitter.decisions] == [
        ("good", "c_0", "allow"),
        ("bad", None, "deny"),
        ("other", "c_2", "allow"),
    ]


@pytest.mark.parametrize(
    "parts",
    [
        [call(0, None, '{"s":"XYZZY"}'), call(0, "bad")],
        [call(0, None, '{"s"', "c_0"), call(0, None, ':"XYZZY"}'), call(0, "bad"), call(0, None, " ")],
        [call(0, "bad"), call(0, "bad", "{}"), call(0, None, "{}", "c_0")],
    ],
)
def test_it_does_not_matter_when_its_name_comes(parts: list[Part]) -> None:
    events, emitter = told(parts)
    assert final(events)["output"] == []
    assert final(events)["status"] == "completed"
    assert [one["rule"] for one in emitter.decisions] == ["no-bad"]


def test_a_call_that_is_never_named_is_still_a_fault() -> None:
    events, _ = told([call(0, None, "{}", "c_0")])
    assert final(events)["status"] == "failed"
    assert "without naming" in final(events)["error"]["message"]


def test_text_around_a_call_that_is_left_out_is_one_message() -> None:
    events, _ = told([TextDelta("t", "One "), call(0, "bad", "{}", "c"), TextDelta("t", "two")])
    (message,) = final(events)["output"]
    assert message["content"][0]["text"] == "One two"


def test_a_call_that_is_left_out_counts_for_no_limit() -> None:
    events, _ = told([call(0, "bad", "{}"), call(1, "good", "{}"), call(2, "other", "{}")], max_tool_calls=1)
    assert [item["name"] for item in final(events)["output"]] == ["good"]
    refused = final(events)["antiphon:policy"]["refused_calls"]
    assert [(one["tool"], one["rule"]) for one in refused] == [("bad", "no-bad"), ("other", "max_tool_calls")]


def test_a_policy_that_fails_lets_the_emitter_refuse() -> None:
    screen = Screen(admission("fail"))
    assert screen.admitted([call(0, "bad")]) == [call(0, "bad")]


def test_no_end_of_calls_that_are_left_out_fails_the_response() -> None:
    emitter = new_emitter(admission=admission())
    with pytest.raises(Exception, match="more than 256 calls that are not allowed"):
        play(emitter, [call(n, "bad", "{}") for n in range(300)], admission())


def test_state_that_led_only_to_a_call_that_is_left_out_is_dropped() -> None:
    def states(parts: list[Part]) -> list[Any]:
        emitter = Emitter(
            base_snapshot(),
            new_id=iter_ids("x"),
            clock=lambda: 9,
            admission=admission(),
            seal=lambda kind, content: orjson.dumps(content).decode(),
        )
        play(emitter, parts, admission())
        return [
            item.get("encrypted_content") for item in emitter.record["output"] if item["type"] == "reasoning"
        ]

    thinking: list[Part] = [ReasoningDelta("r", "Hm"), StateReport({"sig": 1})]
    kept = ['[{"sig":1}]']
    assert states([*thinking, call(0, "bad", "{}")]) == [None]
    assert states([*thinking, call(0, "bad", "{}"), call(1, "good", "{}")]) == kept
    assert states([*thinking, call(0, "bad", "{}"), TextDelta("t", "So")]) == kept
    assert states(thinking) == kept


def iter_ids(mark: str) -> Any:
    made = iter(range(10_000))
    return lambda prefix: f"{prefix}_{mark}{next(made)}"


TEXTS = st.builds(lambda text: [TextDelta("t", text)], st.sampled_from(["a", "bc", "déf"]))


@st.composite
def answers(draw: st.DrawFn) -> list[Part]:
    """Text, and calls that grow side by side, some of which are left out."""
    names = draw(st.lists(st.sampled_from(["good", "bad", "other"]), max_size=4))
    waiting: list[list[Part]] = []
    for key, name in enumerate(names):
        secret = SECRET if name == "bad" else "fine"
        whole = f'{{"{secret}":{key}}}'
        cut = draw(st.integers(0, len(whole)))
        waiting.append(
            [
                call(key, name, "", f"c_{name}_{key}"),
                call(key, None, whole[:cut]),
                call(key, None, whole[cut:]),
            ]
        )
    parts: list[Part] = []
    while waiting:
        if draw(st.booleans()) and len(waiting) == len(names):
            parts += draw(TEXTS)
        chosen = draw(st.integers(0, len(waiting) - 1))
        parts.append(waiting[chosen].pop(0))
        waiting = [one for one in waiting if one]
    return parts


@given(answers())
def test_nothing_of_what_is_left_out_is_told_and_the_score_tells_the_same_again(parts: list[Part]) -> None:
    rules = admission()
    emitter = new_emitter(admission=rules)
    raw = play(emitter, parts, rules) + emitter.terminal()
    events = assert_stream(raw + DONE).events
    assert SECRET.encode() not in raw
    assert b"c_bad" not in raw
    assert b"".join(perform(emitter.response, emitter.score())) == raw
    named = [part.name for part in parts if isinstance(part, CallDelta) and part.name]
    assert [item["name"] for item in final(events)["output"] if item["type"] == "function_call"] == [
        name for name in named if name != "bad"
    ]
    assert [one["tool"] for one in emitter.decisions] == named


@given(answers(), st.integers(0, 60))
def test_a_second_attempt_is_told_as_if_what_is_left_out_had_never_been(parts: list[Part], kept: int) -> None:
    bad = {part.key for part in parts if isinstance(part, CallDelta) and part.name == "bad"}
    without = [part for part in parts if not (isinstance(part, CallDelta) and part.key in bad)]
    first, told_first = attempt(parts, [])
    _, told_without = attempt(without, [])
    assert told_first == told_without
    before = list(frames_to_data(told_first))[: max(3, kept)]
    try:
        second, said = attempt(parts, before)
    except Diverged:
        with pytest.raises(Diverged):
            attempt(without, before)
        return
    frames = [b"event: %b\ndata: %b\n\n" % (data.split(b'"', 4)[3], data) for data in before]
    stream = assert_stream(b"".join(frames) + said + second.terminal() + DONE)
    assert SECRET not in orjson.dumps(stream.events).decode()
    assert second.response.get("antiphon:policy") == first.response.get("antiphon:policy")
    assert [one["effect"] for one in second.decisions] == [one["effect"] for one in first.decisions]


def attempt(parts: Sequence[Part], before: Sequence[bytes]) -> tuple[Emitter, bytes]:
    """An attempt at a background response of which something was told before, and what it tells."""
    retelling, rules = Retelling(before, iter_ids("b" if before else "a")), admission()
    emitter = Emitter(
        base_snapshot(background=True),
        new_id=retelling.new_id,
        clock=lambda: 9,
        admission=rules,
        background=True,
    )
    said = play(emitter, parts, rules, retelling)
    if retelling.is_behind:
        raise Diverged
    return emitter, said


def test_a_refused_call_is_a_part_of_its_own() -> None:
    (part,) = Screen(admission()).admitted([call(0, "bad", "{}")])
    assert isinstance(part, RefusedCall)
    assert (part.name, part.verdicts[0].rule, part.verdicts[0].version) == ("bad", "no-bad", 4)


def test_an_item_of_a_tool_that_was_never_offered_goes_no_further() -> None:
    screen = Screen(admission())
    item: Json = {"type": "web_search_call", "id": "ws_1"}
    parts: list[Part] = [ForeignItem("k", item), ForeignItem("k", item, is_done=True), TextDelta("t", "Hi")]
    refused, text = screen.admitted(parts)
    assert isinstance(refused, RefusedCall)
    assert refused.name == "web_search_call"
    assert text == TextDelta("t", "Hi")
