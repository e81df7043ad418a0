"""Backend options: their bounds, and what they may never set."""

from typing import Any

import pytest

from responses_api.protocol.backend_options import FIELD, added, fault_of_defaults, takes, with_defaults
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Tool
from responses_api.protocol.policy_reading import read_policy
from responses_api.protocol.policy_words import rule_in_words
from responses_api.protocol.request import CreateRequest, parse_create
from responses_api.quotas.bounds import bound


def parsed(options: Any) -> CreateRequest:
    return parse_create({"model": "m", "input": "x", FIELD: options})


def nested(levels: int) -> Json:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return {"deep": value}


def error_of(options: Any) -> tuple[str | None, str | None, str]:
    with pytest.raises(ProtocolError) as caught:
        parsed(options)
    return caught.value.code, caught.value.param, caught.value.message


def test_they_cross_to_a_worker_and_come_back_from_rows_of_before() -> None:
    request = parsed({"top_k": 40})
    assert CreateRequest.from_plain(request.to_plain()) == request
    older = {name: value for name, value in request.to_plain().items() if name != "backend_options"}
    assert CreateRequest.from_plain(older).backend_options == {}
    assert parse_create({"model": "m", "input": "x", "backend_options": {"top_k": 1}}).backend_options == {}


@pytest.mark.parametrize(
    ("options", "code", "param", "sentence"),
    [
        ([], "invalid_type", FIELD, f"'{FIELD}' must be an object."),
        ("top_k", "invalid_type", FIELD, f"'{FIELD}' must be an object."),
        (
            {"top k": 1},
            "invalid_value",
            FIELD,
            f"'{FIELD}' must have names of 1 to 64 letters, digits, '_', '-' or '.'.",
        ),
        (nested(17), "invalid_value", f"{FIELD}.deep", f"'{FIELD}.deep' must be nested at most 16 deep."),
        (
            {str(number): 1 for number in range(65)},
            "invalid_value",
            FIELD,
            f"'{FIELD}' must have at most 64 fields.",
        ),
        (
            {"text": "ü" * 32_768},
            "invalid_value",
            FIELD,
            f"'{FIELD}' must have at most 65536 bytes as JSON.",
        ),
    ],
)
def test_what_is_out_of_bounds_is_refused_by_name(options: Any, code: str, param: str, sentence: str) -> None:
    assert error_of(options) == (code, param, sentence)


def test_what_is_just_within_bounds_is_taken() -> None:
    assert parsed(nested(16)).backend_options == nested(16)
    assert len(parsed({str(number): 1 for number in range(64)}).backend_options) == 64


def test_they_are_added_as_they_are_and_leave_the_rest_alone() -> None:
    body = {"model": "m", "messages": []}
    assert added(body, {}) is body
    assert added(body, {"top_k": {"a": [None]}}) == {**body, "top_k": {"a": [None]}}


@pytest.mark.parametrize(
    "name",
    [
        "model",
        "MODEL",
        "max_tokens",
        "maxTokens",
        "max-tokens",
        "max.tokens",
        "generation_config",
        "messages",
    ],
)
def test_none_takes_the_place_of_what_the_service_sets(name: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        added({"model": "m", "messages": []}, {"top_k": 1, name: 1})
    assert (caught.value.status, caught.value.param) == (400, f"{FIELD}.{name}")


def test_defaults_are_added_but_for_what_the_request_has_set_in_any_spelling() -> None:
    body = {"model": "m", "temperature": 0.5, "topK": None}
    assert with_defaults(body, {}) is body
    assert with_defaults(body, {"Temperature": 1, "top_k": 40, "min_p": {"a": [None]}}) == {
        **body,
        "min_p": {"a": [None]},
    }


def test_a_default_that_is_the_services_own_is_never_sent() -> None:
    with pytest.raises(LookupError, match="default option 'Max-Tokens' is the service's to set"):
        with_defaults({"model": "m"}, {"top_k": 1, "Max-Tokens": 1})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, ""),
        ({"top_k": 40, "logit_bias": {"2": 3}}, ""),
        (nested(16), ""),
        ([], 'This must be a JSON object: {"top_k": 40}.'),
        (None, 'This must be a JSON object: {"top_k": 40}.'),
        ({"top k": 1}, "This must have names of 1 to 64 letters, digits, '_', '-' or '.'."),
        (nested(17), "'deep' must be nested at most 16 deep."),
        ({str(number): 1 for number in range(65)}, "This must have at most 64 fields."),
        ({"text": "x" * 65_536}, "This must have at most 65536 bytes as JSON."),
        ({"stop": "a\0"}, "'stop' contains the character U+0000, which cannot be stored."),
        (
            {"top_k": 1, "Max-Tokens": 1},
            "'Max-Tokens' cannot be a default option: this service sets it, of each request's own fields.",
        ),
    ],
)
def test_a_rows_defaults_are_held_to_the_same_bounds(options: Any, sentence: str) -> None:
    assert fault_of_defaults(options) == sentence


def test_a_row_allows_by_name_or_any() -> None:
    assert [takes(allowed, "top_k") for allowed in (["top_k"], ["*"], ["top"], ["TOP_K"], [])] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_their_rules_are_of_nothing_else_and_rules_of_tools_are_not_of_them() -> None:
    policy = read_policy(
        {
            "rules": [
                {"id": "tools", "effect": "deny", "kind": "any"},
                {"id": "top", "effect": "deny", "kind": "backend_option", "tool": "top_*", "models": ["m"]},
            ]
        }
    )
    assert policy.judge(Tool("backend_option", "min_p"), "m").effect == "allow"
    assert policy.judge(Tool("backend_option", "top_k"), "m").rule == "top"
    assert policy.judge(Tool("backend_option", "top_k"), "other").effect == "allow"
    assert policy.judge(Tool("function", "top_k"), "m").rule == "tools"
    assert rule_in_words(policy.rules[1]) == "Denies backend options named 'top_*' with the model 'm'."


def test_they_count_in_what_a_request_may_read() -> None:
    def tokens(options: Json) -> int:
        limits: Json = {"checks": (), "prices": {"input": 0, "cached_input": 0, "output": 0}}
        return bound(
            parsed(options), (), context_window=None, most_output=16, purpose="respond", **limits
        ).tokens

    assert tokens({"text": "ü" * 1000}) - tokens({}) == len('{"text":""}') + 2000
