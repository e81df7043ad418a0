"""Faults of background responses."""

from responses_api.conformance.prompts import HELLO, SLOW_COUNT
from tests.support.faults.changes import NEVER, asking, at, creates, in_body, in_response, only, status
from tests.support.faults.fault import Call, Fault


def _continues(call: Call) -> bool:
    return creates(input=HELLO)(call) and bool(call.body.get("previous_response_id"))


def _cancels(call: Call) -> bool:
    return call.method == "POST" and call.path.endswith("/cancel")


BACKGROUND = [
    Fault(
        "background is not echoed",
        ("background.accepted",),
        creates(input=SLOW_COUNT, background=True, stream=None),
        response=in_response("background", value=False),
    ),
    Fault(
        "a background response ends empty",
        ("background.ends",),
        creates(input=HELLO, background=True, store=None),
        response=in_response("output", value=[]),
    ),
    Fault(
        "a background response is stored although it must not be",
        ("background.stored",),
        creates(background=True, store=False),
        call=asking(store=None),
    ),
    Fault(
        "a cancelled response goes on",
        ("background.cancel",),
        _cancels,
        reply=only(200, in_body("status", value="in_progress")),
    ),
    Fault(
        "an unknown response is cancelled with 400",
        ("background.cancel-others",),
        lambda call: _cancels(call) and NEVER in call.path,
        reply=status(400),
    ),
    Fault(
        "another code for a cancelled chain",
        ("background.cancelled-chain",),
        _continues,
        reply=only(400, in_body("error", "code", value="cancelled")),
    ),
    Fault("500 for a running chain", ("background.running-chain",), _continues, reply=only(409, status(500))),
    Fault(
        "500 for the deletion of a running response",
        ("background.delete",),
        at("DELETE", "/responses/"),
        reply=only(409, status(500)),
    ),
]
