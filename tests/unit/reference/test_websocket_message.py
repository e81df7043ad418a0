"""The described `response.create` message is what the WebSocket takes."""

from typing import Any

import jsonschema_rs
import pytest

from responses_api.http.reference.document import build
from responses_api.http.reference.schemas import MESSAGE_BODY, ref
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.websocket.messages import read_message, turn_of
from tests.support.asgi import encoded

CREATE: Json = {"type": "response.create", "model": "m", "input": "Hello"}
MESSAGE = jsonschema_rs.Draft202012Validator({**ref(MESSAGE_BODY), "components": build()["components"]})


def is_taken(message: Any) -> bool:
    try:
        turn_of(read_message(encoded(message)), leave_out_tools=False)
    except ProtocolError:
        return False
    return True


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"stream": True, "stream_options": None},
        {"background": False, "stream_id": None},
        {"generate": False, "input": None},
        {"generate": None, "previous_response_id": "resp_1", "input": []},
        {"something": "else"},
    ],
)
def test_what_is_described_is_taken(fields: Json) -> None:
    message = {**CREATE, **fields}
    MESSAGE.validate(message)
    assert is_taken(message)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "response.cancel"},
        {"type": None},
        {"model": ""},
        {"background": True},
        {"stream_id": "1"},
        {"generate": "no"},
        {"temperature": 3},
    ],
)
def test_what_is_not_described_is_refused(fields: Json) -> None:
    message = {**CREATE, **fields}
    assert not MESSAGE.is_valid(message)
    assert not is_taken(message)
