"""Ids, errors and jobs survive what happens to them on the way."""

import pickle

import pytest

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import (
    ProtocolError,
    invalid_request,
    model_error,
    not_found,
    server_error,
    too_many_requests,
)
from responses_api.protocol.ids import build_id, item_prefix
from responses_api.protocol.job import Job


def test_ids_sort_by_time() -> None:
    earlier, later = build_id("resp", 0xFF, b"\xff" * 16), build_id("resp", 0x100, b"\0" * 16)
    assert earlier < later
    assert later == "resp_000000000100" + "00" * 16


def test_short_entropy_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        build_id("resp", 1, b"\0" * 15)


def test_every_item_type_has_a_prefix() -> None:
    assert [item_prefix(kind) for kind in ("message", "reasoning", "acme:thing")] == ["msg", "rs", "item"]


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (invalid_request("m", "p", "c"), 400, "invalid_request"),
        (not_found("m"), 404, "not_found"),
        (too_many_requests("m", retry_after=1.5), 429, "too_many_requests"),
        (server_error("m", status=503), 503, "server_error"),
        (model_error("m"), 500, "model_error"),
    ],
)
def test_an_error_crosses_processes_unchanged(error: ProtocolError, status: int, kind: str) -> None:
    assert (error.status, error.type) == (status, kind)
    for copy in (pickle.loads(pickle.dumps(error)), ProtocolError.from_plain(error.to_plain())):
        assert copy.to_plain() == error.to_plain()
        assert str(copy) == "m"


def test_an_error_renders_one_body_one_payload_and_a_snapshot_error() -> None:
    error = invalid_request("Too hot.", "temperature")
    told = {"type": "invalid_request", "code": None, "message": "Too hot.", "param": "temperature"}
    assert error.body() == {"error": told}
    assert error.payload() == told
    assert error.snapshot_error() == {"code": "invalid_request", "message": "Too hot."}


def test_an_error_that_says_more_is_another_one() -> None:
    error = model_error("It failed.", retry_after=3).with_headers({"x-a": "1"}).after_status(503)
    more = error.adding("That failed, too.", "And this.")
    assert (more.message, str(more)) == ("It failed. That failed, too. And this.",) * 2
    assert more.headers() == error.headers() == {"Retry-After": "3", "x-a": "1"}
    assert (more.reason, more.upstream_status) == (error.reason, 503)
    assert error.message == "It failed."


def test_a_job_crosses_as_bytes() -> None:
    spec = BackendSpec("b", "chat_completions", "http://m/v1", None, 5.0, 60.0, 30.0, 600.0)
    message = {"type": "message", "role": "user", "content": []}
    job = Job(
        response_id="resp_1",
        tenant_id="t",
        key_id="k",
        request_id="r",
        created_at=1,
        request={"model": "m"},
        history=[message],
        input_items=[message | {"id": "msg_1"}],
        backend=spec.to_plain(),
        upstream_model="m",
        inbox=None,
        dialect="open",
    )
    copy = Job.from_bytes(job.to_bytes())
    assert copy == job
    assert copy.context == [*copy.history, *copy.input_items]
    assert BackendSpec.from_plain(copy.backend | {"from_a_newer_release": 1}) == spec


def test_half_a_job_is_refused() -> None:
    with pytest.raises(TypeError):
        Job.from_bytes(b"{}")
    with pytest.raises(ValueError, match="unexpected end"):
        Job.from_bytes(b"{")
