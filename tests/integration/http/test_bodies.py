"""Bodies that cannot be served: refused with a status and a place, before anything is asked, queued or kept."""

import gzip
import json
import random
import tracemalloc
from typing import Any

import pytest
import zstandard
from pytest_django import Settings

from responses_api.http.body import parse_json, read_body
from responses_api.protocol.errors import ProtocolError
from tests.integration.fixtures import MODEL
from tests.support.checks import checked_response
from tests.support.client import Answer, Client

GOOD = json.dumps({"model": MODEL, "input": "Hello"}).encode()


def post(client: Client, body: Any, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.request("POST", "/responses", body, named)


def assert_refused(answer: Answer, status: int = 400, param: str | None = None) -> None:
    assert answer.status == status, answer.body
    assert set(answer.error) == {"message", "type", "param", "code"}
    assert (answer.error["type"], answer.error["param"]) == ("invalid_request", param)


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
def test_another_content_type_is_415(kind: str, untouched: Client) -> None:
    assert_refused(post(untouched, GOOD, content_type=kind), 415)


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "APPLICATION/JSON"])
def test_json_may_be_spelled_as_clients_do(kind: str, friend: Client) -> None:
    assert post(friend, GOOD, content_type=kind).status == 200


def test_another_encoding_is_415(untouched: Client) -> None:
    assert_refused(post(untouched, GOOD, content_encoding="br"), 415)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(GOOD, mtime=0)),
        ("GZIP", gzip.compress(GOOD, mtime=0)),
        ("zstd", zstandard.compress(GOOD)),
        ("identity", GOOD),
    ],
)
def test_compressed_bodies_are_taken(encoding: str, body: bytes, friend: Client) -> None:
    checked_response(friend, post(friend, body, content_encoding=encoding).json())


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_bombs_are_413_before_they_go_off(encoding: str, untouched: Client, settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 100_000
    blank = b" " * 50_000_000
    bomb = gzip.compress(blank) if encoding == "gzip" else zstandard.compress(blank)
    assert len(bomb) < settings.MAX_BODY_BYTES
    assert_refused(post(untouched, bomb, content_encoding=encoding), 413)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_a_bomb_produces_no_more_than_is_allowed(encoding: str, settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 1_000_000
    blank = b" " * 200_000_000
    bomb = gzip.compress(blank, 1) if encoding == "gzip" else zstandard.compress(blank)
    del blank

    async def receive() -> Any:
        return {"type": "http.request", "body": bomb}

    headers = {b"content-type": b"application/json", b"content-encoding": encoding.encode()}
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError) as refused:
            parse_json(headers, await read_body(headers, receive))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.status == 413
    assert most < len(bomb) + 3 * settings.MAX_BODY_BYTES


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("size", [1, (1 << 16) - 1, 1 << 16, (1 << 17) + 1, 1 << 20, (1 << 20) + 1, 1 << 21])
async def test_bodies_of_every_size_up_to_the_limit_are_inflated_whole(
    encoding: str, size: int, settings: Settings
) -> None:
    text = b'"' + random.Random(size).randbytes(size // 2).hex().encode()[: size - 2] + b'"'
    body = text.ljust(size) if size > 1 else b"7"
    packed = gzip.compress(body) if encoding == "gzip" else zstandard.compress(body)

    async def receive() -> Any:
        return {"type": "http.request", "body": packed}

    headers = {b"content-type": b"application/json", b"content-encoding": encoding.encode()}
    settings.MAX_BODY_BYTES = max(size, len(packed))
    assert parse_json(headers, await read_body(headers, receive)) == json.loads(body)


def pack(encoding: str, body: bytes) -> bytes:
    return gzip.compress(body) if encoding == "gzip" else zstandard.compress(body)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body[:-5],
        lambda body: body[:-1],
        lambda body: b"",
        lambda body: b"x" + body,
        lambda body: body + b"x",
        lambda body: body + b"\x00",
        lambda body: body + body,
    ],
)
def test_damaged_compression_is_refused(encoding: str, spoil: Any, untouched: Client) -> None:
    body = spoil(pack(encoding, GOOD))
    assert_refused(post(untouched, body, content_encoding=encoding, content_type="application/json"))


def test_a_window_larger_than_http_allows_is_refused(untouched: Client) -> None:
    long = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    stream = zstandard.ZstdCompressor(compression_params=long).compressobj()
    body = stream.compress(GOOD) + stream.flush()
    assert zstandard.get_frame_parameters(body).window_size > 1 << 23
    assert_refused(post(untouched, body, content_encoding="zstd"))


@pytest.mark.parametrize("pieces", [1, 10])
def test_a_body_above_the_limit_is_413(pieces: int, untouched: Client, settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 1000
    piece = b" " * (1001 // pieces + 1)
    assert_refused(post(untouched, (piece,) * pieces), 413)


def test_a_body_may_come_in_pieces(friend: Client) -> None:
    pieces = tuple(GOOD[at : at + 1] for at in range(len(GOOD)))
    assert post(friend, pieces).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b'{"model": "m", "input": NaN}',
        GOOD + b"x",
        b"[" * 100_000,
        b'{"model": "test-model", "input": "\\ud800"}',
    ],
)
def test_what_is_not_a_json_object_is_refused(body: bytes, untouched: Client) -> None:
    assert_refused(post(untouched, body, content_type="application/json"))


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def user(*parts: Any) -> list[Any]:
    return [{"role": "user", "content": list(parts)}]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": "Hello\x00"}, "input"),
        ({"input": user({"type": "input_text", "text": "\x00"})}, "input[0].content[0].text"),
        ({"input": "x", "metadata": {"a": "\x00"}}, "metadata.a"),
        ({"input": "x", "metadata": {"\x00": "a"}}, "metadata"),
        ({"input": 5}, "input"),
        ({"input": "x", "temperature": 3}, "temperature"),
        ({"input": user({"type": "input_image", "image_url": "x"})}, "input[0].content[0].image_url"),
        ({"input": "x", "metadata": {"a": "x" * 513}}, "metadata.a"),
        ({"input": "x", "background": True, "store": False}, "background"),
        ({"input": "x", "tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"input": "x", "tools": [{"type": "acme:search"}]}, "tools[0].type"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0].id"),
        ({"input": "x", "stream": "yes"}, "stream"),
        ({}, "input"),
        ({"model": None, "input": "x"}, "model"),
        ({"input": "x", "previous_response_id": "resp_unknown"}, "previous_response_id"),
        ({"input": "x", "previous_response_id": "\U0001f642" * 3000}, "previous_response_id"),
    ],
)
@pytest.mark.parametrize("stream", [{}, {"stream": True}])
def test_the_field_to_change_is_named(
    body: dict[str, Any], param: str, stream: dict[str, bool], untouched: Client
) -> None:
    assert_refused(post(untouched, {"model": MODEL, **stream, **body}), 400, param)


def test_deep_nesting_is_refused_and_never_a_500(untouched: Client) -> None:
    answer = post(untouched, {"model": MODEL, "input": [{"type": "acme:thing", "deep": nested(600)}]})
    assert answer.status == 400


def test_nesting_within_reason_is_kept(friend: Client) -> None:
    thing = {"type": "acme:thing", "deep": nested(200)}
    made = post(friend, {"model": MODEL, "input": [{"role": "user", "content": "x"}, thing]}).json()
    (kept, _) = friend.get(f"/responses/{made['id']}/input_items").json()["data"]
    assert kept["deep"] == thing["deep"]


def test_an_unknown_model_is_404(untouched: Client) -> None:
    for stream in (False, True):
        answer = post(untouched, {"model": "no-such-model", "input": "x", "stream": stream})
        assert (answer.status, answer.error["code"], answer.error["param"]) == (
            404,
            "model_not_found",
            "model",
        )


def test_unknown_fields_and_nulls_are_no_fault(friend: Client) -> None:
    extra = {
        "conversation": None,
        "user": None,
        "include": None,
        "client_metadata": {"a": 1},
        "generate": True,
    }
    checked_response(friend, post(friend, {"model": MODEL, "input": "Hello", **extra}).json())
