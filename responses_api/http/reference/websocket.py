"""The WebSocket at `/v1/responses`, as an extension of the GET that its handshake is: OpenAPI has no word for it."""

from typing import Final

from responses_api.http.reference.call import Answer
from responses_api.http.reference.examples import ASKED
from responses_api.http.reference.schemas import MESSAGE_BODY, ref
from responses_api.protocol.plain import Json
from responses_api.protocol.published.events import ResponseStreamEvent, WebSocketError

DESCRIPTION: Final = (
    "With `Upgrade: websocket` this address is a WebSocket. Each text frame that a client sends is a `response.create` "
    "message: the body of a create request and its `type`. The answer are the events of that response, one JSON "
    "object a frame, or an error that has a `status`, after which the connection can be used on. It has one response "
    "at a time; messages that come meanwhile wait in order. Its latest response can be continued even if it was not "
    "stored, there and nowhere else. Browsers, which can send no header, give the key as the subprotocol "
    "`openai-insecure-api-key.<key>`."
)
CLOSE_CODES: Final = {
    1000: "The connection has lasted as long as one may.",
    1009: "A frame was larger than twice what a request may have, and was not read.",
    1012: "The server is being stopped; connect again.",
    4401: "The key is no longer valid: it was revoked or has expired, or its tenant was switched off. A response that "
    "runs is ended, and this comes within a second.",
}
SWITCHED: Final = Answer(
    status=101,
    description="The handshake is done: frames follow.",
    headers={"Upgrade": "`websocket`", "Sec-WebSocket-Accept": "The answer to the handshake's key."},
)
EXTENSION: Final[Json] = {
    "x-websocket": {
        "description": DESCRIPTION,
        "send": ref(MESSAGE_BODY),
        "receive": {"oneOf": [ref(ResponseStreamEvent), ref(WebSocketError)]},
        "closeCodes": {str(code): why for code, why in CLOSE_CODES.items()},
        "example": {"type": "response.create", **ASKED},
    }
}
