"""The scenarios: each verdict of each, on answers that a test decides."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from responses_api.conformance import scenarios as _scenarios  # noqa: F401  (registers them)
from responses_api.conformance.exchange import MOST_RECEIVED
from responses_api.conformance.judging import Judged, play
from responses_api.conformance.scenario import scenario, select_scenarios
from responses_api.conformance.server import Target
from responses_api.protocol.errors import model_error, too_many_requests
from responses_api.protocol.plain import Json
from tests.support.minds import able, weak
from tests.support.respondent import Bend, Mind, Respondent, Said, Sent, call, message, reasoning, refuse

KEY = "ak_the-secret-of-the-run"
EVERY = [one.id for one in select_scenarios()]


def played(mind: Mind, *only: str, bend: Bend | None = None) -> dict[str, Judged]:
    with Respondent(mind, bend) as server:
        target = Target(server.base_url, KEY, "some-model", timeout=10, headers={"Antiphon-Backend": "east"})
        found = asyncio.run(play(target, select_scenarios(only)))
        assert all(headers["Antiphon-Backend"] == "east" for headers in server.headers)
        assert server.kept == 0, "what was stored must be deleted"
    return {one.scenario.id: one for one in found}


def ends(mind: Mind, *only: str, bend: Bend | None = None) -> dict[str, str]:
    return {name: one.end for name, one in played(mind, *only, bend=bend).items()}


def test_a_capable_model_behind_a_faithful_server_passes_all_of_them() -> None:
    found = played(able)
    assert {name: (one.end, one.sentence) for name, one in found.items() if one.end != "passed"} == {}
    assert all(one.sentence.endswith(".") and one.exchange is None for one in found.values())
    assert [*found] == EVERY


def test_what_a_weak_model_cannot_do_is_inconclusive_and_nothing_fails() -> None:
    found = played(weak)
    assert {name for name, one in found.items() if one.end == "passed"} - {"leave"} == {
        "text",
        "stream",
        "usage",
        "structured-output",
        "errors",
    }
    assert {one.end for one in found.values()} == {"passed", "inconclusive"}
    assert "counted tokens show" in found["instructions"].sentence


# ---- what no model may be blamed for


def in_json(change: Callable[[Json], Json]) -> Bend:
    """Bends each response that is no stream."""
    return lambda body, sent: (
        sent if sent.events or "output" not in sent.body else Sent(200, change(sent.body))
    )


def in_stream(change: Callable[[list[Json]], list[Json]]) -> Bend:
    """Bends each stream."""
    return lambda body, sent: replace(sent, events=change(sent.events)) if sent.events else sent


def of_final(**fields: object) -> Callable[[list[Json]], list[Json]]:
    def change(events: list[Json]) -> list[Json]:
        return [*events[:-1], {**events[-1], "response": {**events[-1]["response"], **fields}}]

    return change


def forget(*names: str) -> Mind:
    """A capable model behind an adapter that drops fields of the request."""
    return lambda body: able({name: value for name, value in body.items() if name not in names})


def forgetting_outputs(body: Json) -> Said:
    items = body["input"]
    if isinstance(items, str):
        return able(body)
    return able({**body, "input": [{**item, "output": "."} if "output" in item else item for item in items]})


def forgetting_turns(body: Json) -> Said:
    return able({**body, "input": body["input"][-1:]})


def always(said: Said) -> Mind:
    return lambda body: said


def twice_the_same_id(body: Json) -> Said:
    said = able(body)
    if len(said.items) < 2:
        return said
    return replace(said, items=[{**item, "call_id": "call_1"} for item in said.items])


def calling_the_other(body: Json) -> Said:
    return Said([call("get_weather")])


def refusing_the_second_turn(body: Json) -> Said:
    if isinstance(body["input"], list) and any(item.get("type") == "reasoning" for item in body["input"]):
        raise refuse("Invalid signature.", "input[1]", "upstream_rejected")
    return able(body)


def refusing_calls_together(body: Json) -> Said:
    if isinstance(body["input"], list) and sum("output" in item for item in body["input"]) > 1:
        raise refuse("Each tool_use must be answered in the next message.", code="upstream_rejected")
    return able(body)


FAILURES: list[tuple[str, Mind, Bend | None, str]] = [
    ("text", always(Said([message("<think>So.</think> Hello")])), None, "'<think>', a mark"),
    ("text", able, in_json(lambda body: {**body, "model": None}), "breaks its schema: model"),
    ("text", able, in_json(lambda body: {**body, "output": [*body["output"] * 2]}), "not each its own"),
    ("text", always(Said(error={"code": "x", "message": "Cut."}, status="failed")), None, "response failed"),
    ("stream", able, in_stream(lambda events: events[:-1]), "stream breaks S3"),
    ("stream", able, in_stream(lambda events: [*events[:4], *events[5:]]), "and"),
    (
        "usage",
        able,
        in_json(lambda body: {**body, "usage": {**body["usage"], "total_tokens": 1}}),
        "tokens are",
    ),
    ("usage", able, in_json(lambda body: {**body, "usage": None}), "either with JSON or with a stream"),
    ("usage", always(Said([message("Hello")], (0, 5))), None, "counted as no tokens"),
    ("instructions", forget("instructions"), None, "the instructions did not reach the model"),
    ("conversation", forgetting_turns, None, "the earlier turns did not reach the model"),
    ("tool-loop", forgetting_outputs, None, "the tool's output did not reach the model"),
    ("tool-loop", always(Said([message("It rains.")])), None, "without the call that was demanded"),
    ("tool-loop", always(Said([call("get_weather", arguments="{")])), None, "are no JSON object"),
    ("tool-loop", always(Said([call("get_weather")])), None, "although tool_choice is none"),
    ("parallel-calls", twice_the_same_id, None, "share a call_id"),
    ("parallel-calls", refusing_calls_together, None, "refused with 400 upstream_rejected"),
    ("forced-tool", calling_the_other, None, "get_time was demanded"),
    ("forced-tool", always(Said([call("get_thyme")])), None, "no tool of the request"),
    ("structured-output", forget("text"), None, "no JSON object"),
    ("structured-output", always(Said([message('{"colour":"mauve"}')])), None, "not by the schema"),
    ("long-input", always(Said([message("unknown")], (40, 5))), None, "came to the model as 40 tokens"),
    ("reasoning", refusing_the_second_turn, None, "Invalid signature"),
    ("cut-short", able, in_stream(of_final(incomplete_details={"reason": "length"})), "'length'"),
]


@pytest.mark.parametrize(("name", "mind", "bend", "why"), FAILURES)
def test_what_an_adapter_leaks_is_failed_and_shown(
    name: str, mind: Mind, bend: Bend | None, why: str
) -> None:
    judged = played(mind, name, bend=bend)[name]
    assert judged.end == "failed", judged.sentence
    assert why.lower() in judged.sentence.lower()
    assert judged.exchange is not None
    assert judged.exchange.request == "POST /responses"
    assert judged.exchange.sent.startswith('{"model":"some-model",')
    assert judged.exchange.received


def test_a_cancelled_response_that_says_otherwise_is_failed() -> None:
    def bend(body: Json, sent: Sent) -> Sent:
        return Sent(200, {**sent.body, "status": "incomplete"}) if body == {"call": "cancel"} else sent

    judged = played(able, "cancel", bend=bend)["cancel"]
    assert judged.end == "failed"
    assert "answers a response that is incomplete" in judged.sentence


def test_a_field_that_is_not_checked_is_failed() -> None:
    def bend(body: Json, sent: Sent) -> Sent:
        return Sent(200, {"object": "response"}) if sent.status == 400 else sent

    assert ends(able, "errors", bend=bend) == {"errors": "failed"}


def test_a_cut_answer_whose_items_are_called_complete_is_failed() -> None:
    def mind(body: Json) -> Said:
        return Said([message("1 2 3")], (5, 5), "incomplete", "max_output_tokens")

    assert ends(mind, "cut-short") == {"cut-short": "failed"}


@pytest.mark.parametrize(
    ("sentence", "param", "end"),
    [
        ("Not with this model.", "top_logprobs", "passed"),
        ("The model's backend refused the request: logprobs are not supported.", None, "passed"),
        ("The model's backend refused the request.", None, "failed"),
    ],
)
def test_a_setting_that_is_refused_is_named(sentence: str, param: str | None, end: str) -> None:
    def mind(body: Json) -> Said:
        if body.get("top_logprobs"):
            raise refuse(sentence, param)
        return able(body)

    assert ends(mind, "errors") == {"errors": end}


# ---- what is not supported, and what cannot be told


def refusing(param: str, sentence: str = "Not with this model.", code: str = "unsupported_value") -> Mind:
    def mind(body: Json) -> Said:
        raise refuse(sentence, param, code)

    return mind


@pytest.mark.parametrize(
    ("name", "param"),
    [
        ("tool-loop", "tools"),
        ("parallel-calls", "tools[1]"),
        ("forced-tool", "tool_choice"),
        ("structured-output", "text.format"),
        ("image", "input[0].content[1]"),
        ("reasoning", "reasoning.effort"),
        ("cancel", "background"),
    ],
)
def test_what_is_refused_by_name_is_not_supported(name: str, param: str) -> None:
    judged = played(refusing(param), name)[name]
    assert (judged.end, judged.exchange is not None) == ("not supported", True)
    assert "Not with this model" in judged.sentence


@pytest.mark.parametrize("name", [name for name in EVERY if name not in ("image", "cancel", "leave")])
def test_what_is_refused_for_another_reason_is_failed(name: str) -> None:
    assert ends(refusing("metadata"), name) == {name: "failed"}


def test_a_backend_that_does_not_hold_an_answer_to_its_schema_is_not_supported_where_that_is_said() -> None:
    held = "The model's answer has not the form that 'text.format' asks for."
    for told, end in ((held, "not supported"), ("The connection was lost.", "failed")):
        said = Said(error={"code": "upstream_error", "message": told}, status="failed")
        assert ends(always(said), "structured-output") == {"structured-output": end}


def test_a_picture_that_its_backend_refuses_in_words_of_its_own_is_not_supported() -> None:
    told = refusing("", "The model's backend refused the request: no image input.", "upstream_rejected")
    assert ends(told, "image") == {"image": "not supported"}
    assert ends(refusing("", "Bad request.", "upstream_rejected"), "image") == {"image": "failed"}


def test_a_picture_that_nobody_can_read_must_not_be_an_outage() -> None:
    def mind(body: Json) -> Said:
        raise model_error("The model's backend failed.")

    assert ends(mind, "image") == {"image": "failed"}


def test_an_input_that_is_refused_as_too_long_has_passed() -> None:
    judged = played(refusing("input", "9000 tokens, of 2048.", "context_length_exceeded"), "long-input")
    assert judged["long-input"].end == "passed"
    assert "of 2048" in judged["long-input"].sentence


def test_a_limit_of_the_run_fails_nothing() -> None:
    def mind(body: Json) -> Said:
        raise too_many_requests("60 per minute.", retry_after=1)

    found = ends(mind)
    assert found.pop("errors") == "inconclusive"
    assert {*found.values()} == {"inconclusive"}


def test_a_backend_that_is_down_fails_them_all() -> None:
    def mind(body: Json) -> Said:
        raise model_error("The connection to the model's backend was lost.")

    assert {*ends(mind).values()} == {"failed"}


def test_a_model_without_usage_is_told_as_that() -> None:
    found = ends(lambda body: replace(weak(body), counts=None), "usage", "instructions")
    assert found == {"usage": "not supported", "instructions": "inconclusive"}


def test_reasoning_without_a_call_goes_round_too() -> None:
    judged = played(lambda body: Said([reasoning("Hm.", "sealed"), message("Fine.")]), "reasoning")[
        "reasoning"
    ]
    assert judged.end == "passed"
    assert "called nothing" in judged.sentence


def test_nobody_at_the_address_is_a_failure_without_an_answer() -> None:
    found = asyncio.run(
        play(Target("http://127.0.0.1:9/v1", KEY, "m", timeout=2), select_scenarios(["text"]))
    )
    assert (found[0].end, found[0].exchange and found[0].exchange.status) == ("failed", 0)


# ---- the exchange


def test_an_exchange_is_bounded_and_holds_no_key() -> None:
    def mind(body: Json) -> Said:
        return Said([message(f"<think>{KEY} " + "word " * 20_000 + "the end")])

    exchange = played(mind, "text")["text"].exchange
    assert exchange is not None
    assert KEY not in exchange.received
    assert "<key>" in exchange.received
    assert "characters are left out)" in exchange.received
    assert len(exchange.received) < MOST_RECEIVED + 100
    assert "the end" in exchange.received


def test_a_sentence_holds_no_key_and_nothing_that_a_database_refuses() -> None:
    def mind(body: Json) -> Said:
        raise refuse(f"\x00 {KEY}", "metadata")

    sentence = played(mind, "text")["text"].sentence
    assert KEY not in sentence
    assert "\x00" not in sentence


def test_scenarios_are_named_once() -> None:
    assert len(EVERY) == len(set(EVERY)) == 16
    with pytest.raises(ValueError, match="two scenarios"):
        scenario("text", "Again.")(lambda server: asyncio.sleep(0, ""))
    with pytest.raises(ValueError, match="no scenario nothing"):
        select_scenarios(["nothing"])


def test_a_colour_that_was_guessed_is_none_that_was_seen() -> None:
    for guess in ("It is red.", "Red, green, blue, yellow, black or white.", "I see none."):
        judged = played(always(Said([message(guess)])), "image")["image"]
        assert judged.end == "inconclusive"
        assert "picture is called" in judged.sentence
