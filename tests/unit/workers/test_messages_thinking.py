"""How much a model is told to think, and what does not go together with that."""

from typing import Any

import pytest

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from tests.unit.workers.messages import (
    LOOK,
    NEWER,
    OLDER,
    OLDEST,
    body,
    call,
    output,
    reasoning,
    thought,
    user,
)

FORM: Json = {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object", "properties": {}}}}


def told(model: str = OLDER, **fields: Any) -> Json:
    """What the body says of thinking."""
    whole = body(model, **fields)
    return {name: whole[name] for name in ("thinking", "output_config") if name in whole}


def effort(level: str, **settings: Any) -> Json:
    return {"reasoning": {"effort": level, **settings}}


@pytest.mark.parametrize(
    ("level", "budget"),
    [("minimal", 1024), ("low", 4096), ("medium", 8192), ("high", 16384), ("xhigh", 24_000)],
)
def test_older_models_have_a_budget_below_the_limit(level: str, budget: int) -> None:
    assert told(**effort(level)) == {"thinking": {"type": "enabled", "budget_tokens": budget}}


@pytest.mark.parametrize("limit", [16, 1024, 1025, 2000, 10_000])
def test_a_budget_is_always_one_that_the_format_takes(limit: int) -> None:
    thinking = told(max_output_tokens=limit, **effort("high"))
    if limit <= 1024:
        assert thinking == {}
    else:
        assert 1024 <= thinking["thinking"]["budget_tokens"] < limit


@pytest.mark.parametrize(
    ("model", "level", "expected"),
    [
        ("claude-opus-4-6", "minimal", "low"),
        ("claude-opus-4-6", "medium", "medium"),
        ("claude-opus-4-6", "xhigh", "max"),
        ("claude-opus-4-7", "xhigh", "xhigh"),
        (NEWER, "high", "high"),
    ],
)
def test_newer_models_are_told_the_effort(model: str, level: str, expected: str) -> None:
    assert told(model, max_output_tokens=16, **effort(level)) == {
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": expected},
    }


@pytest.mark.parametrize("model", [OLDER, NEWER, "qwen3"])
def test_no_effort_is_no_thinking_and_nothing_said_is_nothing_told(model: str) -> None:
    assert told(model, **effort("none")) == {"thinking": {"type": "disabled"}}
    assert told(model) == {}


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5", "claude-mythos-preview"])
def test_a_model_that_always_thinks_cannot_be_told_not_to_nor_be_made_to_call(model: str) -> None:
    for fields, param in (
        (effort("none"), "reasoning.effort"),
        ({"tools": [LOOK], "tool_choice": "required"}, "tool_choice"),
    ):
        with pytest.raises(ProtocolError) as caught:
            body(model, **fields)
        assert (caught.value.code, caught.value.param) == ("unsupported_value", param)
    assert body(model, tools=[LOOK])["tool_choice"] == {"type": "auto"}


def test_the_least_that_a_model_thinks_has_another_name_in_one_family() -> None:
    assert told("claude-sonnet-5-5", **effort("none")) == {"thinking": {"type": "between_tools"}}
    assert told("claude-haiku-5-5", **effort("none")) == {"thinking": {"type": "disabled"}}


def test_a_summary_that_is_asked_for_is_shown() -> None:
    shown = {"display": "summarized"}
    assert told(**effort("low", summary="auto"))["thinking"].items() >= shown.items()
    assert told(NEWER, **effort("low", summary="auto"))["thinking"] == {"type": "adaptive", **shown}
    assert told(NEWER, reasoning={"summary": "auto"}) == {"thinking": {"type": "adaptive", **shown}}
    for model in (OLDER, "claude-opus-4-8", "qwen3"):
        assert told(model, reasoning={"summary": "auto"}) == {}


def test_effort_and_form_stand_side_by_side() -> None:
    assert set(told(NEWER, text=FORM, **effort("low"))["output_config"]) == {"effort", "format"}


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "look"}])
def test_an_older_model_cannot_think_beside_a_forced_call(choice: Any) -> None:
    fields: Json = {"tools": [LOOK], "tool_choice": choice, **effort("high")}
    assert told(**fields) == {}
    assert told(NEWER, **fields)["thinking"] == {"type": "adaptive"}


def test_nor_where_a_tool_takes_the_answer() -> None:
    assert told(OLDEST, text=FORM, **effort("high")) == {}


def test_nor_among_calls_that_began_without_thinking() -> None:
    begun = [call("a"), output("a"), call("b"), output("b")]
    assert told(input=[user("x"), *begun], **effort("high")) == {}
    assert told(NEWER, input=[user("x"), *begun], **effort("high"))["thinking"] == {"type": "adaptive"}
    assert told(
        input=[user("x"), *begun, {"role": "assistant", "content": "So."}, user("y")], **effort("high")
    )
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
    history = [asked, reasoning(thought()), call("a"), output("a"), call("b")]
    assert told(history=history, input=[output("b")], **effort("high"))["thinking"]["type"] == "enabled"


@pytest.mark.parametrize("settings", [{"temperature": 0.5}, {"top_p": 0.5}])
def test_sampling_that_does_not_go_with_thinking_is_refused(settings: Json) -> None:
    with pytest.raises(ProtocolError) as caught:
        body(OLDER, **settings, **effort("high"))
    assert (caught.value.code, caught.value.param) == ("unsupported_value", next(iter(settings)))
    assert body(OLDER, temperature=1, top_p=0.95, **effort("high"))["top_p"] == 0.95
    assert body("qwen3", **settings, **effort("high")).items() >= settings.items()
