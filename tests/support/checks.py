"""What must hold of every answer the service gives, asserted in one place."""

from responses_api.conformance.stream import assert_stream, compare_with_get
from tests.support.client import Client, Exchange, Json
from tests.support.oracle import assert_response, event_faults


def checked_stream(exchange: Exchange, reader: Client | None = None) -> Json:
    """Check a whole stream and return its final snapshot.

    It fits the invariants and the schemas, every write of the server holds whole events, and, where `reader`
    is given, GET tells the same as the last event.
    """
    assert exchange.status == 200, exchange.raw
    assert exchange.headers["content-type"].startswith("text/event-stream")
    for chunk in exchange.chunks:
        assert chunk.data.endswith(b"\n\n"), f"an event in more than one write: {chunk.data[-200:]!r}"
    final = assert_stream(exchange.raw, validate=event_faults).final
    assert final is not None
    assert_response(final)
    if reader is not None:
        assert not compare_with_get(final, stored_response(reader, final["id"]))
    return final


def checked_response(client: Client, body: Json) -> Json:
    """Check a response that came as JSON: it fits its schema and GET tells the same."""
    assert_response(body)
    assert stored_response(client, body["id"]) == body
    return body


def stored_response(client: Client, response_id: str) -> Json:
    """What GET tells of a response now."""
    answer = client.get(f"/responses/{response_id}")
    assert answer.status == 200, answer.body
    stored = answer.json()
    assert isinstance(stored, dict)
    assert_response(stored)
    return stored


def assert_unknown_to(client: Client, response_id: str) -> None:
    """For this client the response is exactly as one that never was."""
    never = "resp_" + "0" * 44
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/input_items")):
        found = client.request(method, f"/responses/{response_id}{path}")
        expected = client.request(method, f"/responses/{never}{path}")
        assert found.status == expected.status == 404
        assert found.body == expected.body.replace(never.encode(), response_id.encode())
    found = client.create(input="go on", previous_response_id=response_id)
    expected = client.create(input="go on", previous_response_id=never)
    assert found.status == expected.status == 400
    assert found.error["code"] == "previous_response_not_found"
    assert found.body == expected.body.replace(never.encode(), response_id.encode())


def output_text(snapshot: Json) -> str:
    """The text of all messages of a response."""
    parts = [part for item in snapshot["output"] if item["type"] == "message" for part in item["content"]]
    return "".join(part["text"] for part in parts if part["type"] == "output_text")
