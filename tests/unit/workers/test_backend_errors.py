"""What our clients read of an upstream's failure, and what they never do."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import orjson
import pytest

from workers.backends.errors import from_exception, from_status, from_stream_error, safe_message


def told(status: int, message: str = "", **headers: str) -> tuple[int, str, str | None]:
    body = orjson.dumps({"error": {"message": message}})
    error = from_status(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)
    return error.status, error.type, error.code


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, (400, "invalid_request", "upstream_rejected")),
        (404, (500, "model_error", "upstream_error")),
        (413, (400, "invalid_request", "upstream_rejected")),
        (422, (400, "invalid_request", "upstream_rejected")),
        (401, (500, "model_error", "upstream_error")),
        (403, (500, "model_error", "upstream_error")),
        (302, (500, "model_error", "upstream_error")),
        (408, (500, "model_error", "upstream_timeout")),
        (429, (429, "too_many_requests", "rate_limit_exceeded")),
        (500, (500, "model_error", "upstream_error")),
        (502, (500, "model_error", "upstream_error")),
        (503, (503, "server_error", "overloaded")),
        (504, (500, "model_error", "upstream_timeout")),
        (529, (503, "server_error", "overloaded")),
    ],
)
def test_the_status_decides(status: int, expected: tuple[int, str, str]) -> None:
    assert told(status, "something") == expected


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 2048 tokens. However, you requested 3000 tokens.",
        "the request exceeds the available context size (2048 tokens), try increasing it",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input tokens exceed the configured limit",
    ],
)
def test_an_overflow_of_the_context_is_recognised_by_its_text(message: str) -> None:
    error = from_status(400, {}, orjson.dumps({"error": {"message": message}}))
    assert (error.status, error.code, error.param) == (400, "context_length_exceeded", "input")


def test_the_text_does_not_override_the_status() -> None:
    assert told(500, "maximum context length, rate limit, content policy") == (
        500,
        "model_error",
        "upstream_error",
    )


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "30"}, 30.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"Retry-After-Ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "Mon, 01 Jan 2035 00:00:00 +" + "9" * 20}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_kept(headers: dict[str, str], seconds: float | None) -> None:
    assert from_status(429, headers, b"").retry_after == seconds
    assert from_status(503, headers, b"").retry_after == seconds


def test_a_date_to_wait_for_becomes_seconds() -> None:
    in_an_hour = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    seconds = from_status(429, {"Retry-After": in_an_hour}, b"").retry_after
    assert seconds is not None
    assert 3_590 < seconds <= 3_600
    assert from_status(429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b"").retry_after == 0


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdef123456",
        "Bearer abc.def-ghi",
        "https://models.internal.corp/v1/chat?key=1",
        "http://10.1.2.3:8000",
        "10.1.2.3:8000",
        "gpu-7.cluster.local",
        "vllm-service:8000",
        "localhost:11434",
        "AIzaSyA1234567890abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "admin@models.example",
        "0123456789abcdef0123456789abcdef01",
    ],
)
def test_addresses_and_credentials_are_cut_out_of_an_upstreams_words(secret: str) -> None:
    cleaned = safe_message(f"Could not use {secret} for this.")
    assert cleaned == "Could not use [removed] for this."


def test_ordinary_words_stay() -> None:
    words = "Unsupported value: 'messages[0].content' must be a string, e.g. 'abc'. Got 12:30, ratio 1:2."
    assert safe_message(words) == words


def test_known_secrets_are_cut_out_whatever_they_look_like() -> None:
    error = from_status(400, {}, b'{"message":"key hunter2 is odd"}', secrets=["hunter2", ""])
    assert "hunter2" not in error.message
    assert "is odd" in error.message


@pytest.mark.parametrize(
    "words", ["vllm refused", "no route to VLLM.", "http//vllm/x is odd", "at vllm:8000"]
)
def test_the_name_of_our_host_is_cut_out_where_it_is_a_word(words: str) -> None:
    body = orjson.dumps({"message": f"{words}; vllms and a-vllm stay"})
    error = from_status(400, {}, body, secrets=["vllm:8000"], host="vllm")
    assert "vllm" not in error.message.lower().partition(";")[0]
    assert error.message.endswith("; vllms and a-vllm stay")


def test_a_known_secret_is_cut_out_where_the_words_are_cut() -> None:
    error = from_status(
        400, {}, b'{"message":"' + b" " * 1_990 + b'the hunter2hunter2"}', secrets=["hunter2hunter2"]
    )
    assert "hunter" not in error.message


@pytest.mark.parametrize("message", ["bad \\u0000 value", "bad \\ud83d value", "bad \\udc00\\u0000 value"])
def test_words_that_cannot_be_stored_are_mended(message: str) -> None:
    error = from_status(400, {}, f'{{"error":{{"message":"{message}"}}}}'.encode())
    assert "\ufffd" in error.message
    assert "\0" not in error.message
    assert orjson.loads(orjson.dumps(error.to_plain()))["message"] == error.message


def test_long_words_are_cut_short() -> None:
    assert len(safe_message("word " * 1_000)) == 300


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"message":"odd value"}}',
        b'{"error":"odd value"}',
        b'{"message":"odd value","object":"error"}',
        b'{"detail":"odd value"}',
        b'[{"error":{"message":"odd value"}}]',
    ],
)
def test_the_message_is_found_where_servers_put_it(body: bytes) -> None:
    assert "odd value" in from_status(400, {}, body).message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>nginx secret page</html>",
        b'{"error":',
        b"null",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'"routed to prod-gpu-7"',
        b'{"trace":"user asked: how","inner":{"route":"prod-gpu-7"}}',
        b'{"error":{"route":"prod-gpu-7"},"message":{"route":"prod-gpu-7"}}',
        b'{"detail":[{"input":"what the user asked","loc":["body","messages"]}]}',
        b'["routed to prod-gpu-7"]',
    ],
)
def test_a_body_that_says_nothing_is_not_shown(body: bytes) -> None:
    error = from_status(400, {}, body)
    assert error.message == "The model's backend refused the request."


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"message": "it died", "code": "server_error"}, (500, "model_error", "upstream_error")),
        ({"message": "busy", "code": 502}, (500, "model_error", "upstream_error")),
        ({"message": "slow down", "code": 429}, (429, "too_many_requests", "rate_limit_exceeded")),
        ({"message": "slow down", "code": "429"}, (429, "too_many_requests", "rate_limit_exceeded")),
        ({"type": "rate_limit_exceeded"}, (429, "too_many_requests", "rate_limit_exceeded")),
        ({"type": "overloaded_error"}, (503, "server_error", "overloaded")),
        ({"code": "9" * 5_000}, (500, "model_error", "upstream_error")),
        ({"code": 503}, (503, "server_error", "overloaded")),
        (
            {"code": 400, "message": "maximum context length is 10"},
            (400, "invalid_request", "context_length_exceeded"),
        ),
        ({"code": 500, "message": "maximum context length"}, (500, "model_error", "upstream_error")),
        ("it died", (500, "model_error", "upstream_error")),
        (None, (500, "model_error", "upstream_error")),
    ],
)
def test_an_error_inside_an_answer_is_told_by_its_own_status(
    error: Any, expected: tuple[int, str, str]
) -> None:
    told = from_stream_error(error)
    assert (told.status, told.type, told.code) == expected


def test_a_failure_without_an_answer_is_told_by_its_kind() -> None:
    assert from_exception(TimeoutError()).code == "upstream_timeout"
    assert from_exception(ConnectionResetError("10.0.0.7")).message == (
        "The connection to the model's backend was lost."
    )
    assert from_exception(ValueError("sk-secret")).message == "The call to the model's backend failed."
    known = from_stream_error({"code": 503})
    assert from_exception(known) is known


# ---------------------------------------------------------------- errors in the form of google.rpc.Status


def rpc(code: int, status: str, message: str = "No.", **detail: str) -> dict[str, Any]:
    return {
        "error": {"code": code, "message": message, "status": status, "details": [{"@type": "x"}, detail]}
    }


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize(("code", "status"), [(429, "RESOURCE_EXHAUSTED"), (503, "UNAVAILABLE")])
def test_how_long_to_wait_may_stand_in_the_body(code: int, status: str, as_list: bool) -> None:
    told = rpc(code, status, retryDelay="34.5s")
    body = orjson.dumps([told] if as_list else told)
    assert from_status(code, {}, body).retry_after == 34.5
    assert from_status(code, {"Retry-After": "3"}, body).retry_after == 3
    assert from_stream_error(told["error"]).retry_after == 34.5


@pytest.mark.parametrize("delay", ["soon", "", "1m", "-3s", "1e9s", "9" * 400 + "s", None, 5])
def test_a_wait_that_makes_no_sense_is_none(delay: Any) -> None:
    body = orjson.dumps(rpc(429, "RESOURCE_EXHAUSTED", retryDelay=delay))
    assert from_status(429, {}, body).retry_after == from_status(429, {}, b"").retry_after


@pytest.mark.parametrize(
    "body",
    [
        rpc(400, "INVALID_ARGUMENT", "API key not valid.", reason="API_KEY_INVALID"),
        rpc(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
    ],
)
def test_what_the_operator_has_to_mend_is_no_fault_of_the_request(body: dict[str, Any]) -> None:
    error = from_status(400, {}, orjson.dumps(body))
    assert (error.status, error.type) == (500, "model_error")
    assert "location" not in error.message
    assert "not valid" not in error.message


def test_an_argument_that_is_refused_is_the_fault_of_the_request() -> None:
    error = from_status(
        400, {}, orjson.dumps([rpc(400, "INVALID_ARGUMENT", "Unable to process input image.")])
    )
    assert (error.status, error.code) == (400, "upstream_rejected")
    assert error.message.endswith("Unable to process input image.")
    too_long = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    error = from_status(400, {}, orjson.dumps(rpc(400, "INVALID_ARGUMENT", too_long)))
    assert error.code == "context_length_exceeded"
