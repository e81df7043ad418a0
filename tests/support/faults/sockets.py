"""Faults of the WebSocket transport."""

import json
from collections.abc import Callable
from typing import Any

from responses_api.conformance.prompts import HELLO, RECALL
from responses_api.conformance.rules.websocket_errors import FRAMES
from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json
from tests.support.faults.changes import Events, number_from, put
from tests.support.faults.fault import Fault

_VALID = json.dumps({"type": "response.create", "model": "test-model", "input": HELLO})


def _events(change: Callable[[Events], Events]) -> Callable[[list[str]], list[str]]:
    """Change the events of a turn that is a response."""

    def changed(turn: list[str]) -> list[str]:
        events = [json.loads(text) for text in turn]
        return [json.dumps(event) for event in change(events)] if events[0]["type"] == t.CREATED else turn

    return changed


def _error(code: str, *, status: int | None = None, **fields: Any) -> Callable[[list[str]], list[str]]:
    """Change the errors that have this code."""

    def changed(turn: list[str]) -> list[str]:
        told: Json = json.loads(turn[-1])
        if (told.get("error") or {}).get("code") != code or "status" not in told:
            return turn
        told["error"] |= fields
        return [*turn[:-1], json.dumps(told | ({"status": status} if status else {}))]

    return changed


def _says(change: Callable[[Json], Json]) -> Callable[[str], str]:
    """Change what a client says, where it is an object."""

    def changed(text: str) -> str:
        try:
            said = json.loads(text)
        except ValueError:
            return text
        return json.dumps(change(said)) if isinstance(said, dict) else text

    return changed


def _without(name: str) -> Callable[[str], str]:
    return _says(lambda said: {key: value for key, value in said.items() if key != name})


class _Held:
    """Turns held back, to be mixed or swapped: those that have a number in their metadata."""

    def __init__(self, release: Callable[[list[str], list[str]], list[str]]) -> None:
        self._release = release
        self._first: list[str] | None = None

    def __call__(self, turn: list[str]) -> list[str]:
        metadata = (json.loads(turn[0]).get("response") or {}).get("metadata") or {}
        if metadata.get("turn") == "0":
            self._first = turn
            return []
        if metadata.get("turn") == "1" and self._first is not None:
            return self._release(self._first, turn)
        return turn


def _fail_elsewhere(said: Json) -> Json:
    """A continuation that fails does not name what it continues: nothing is evicted."""
    if said.get("max_output_tokens") == 1:
        said.pop("previous_response_id", None)
    return said


def _forget(said: Json) -> Json:
    if said.get("input") == RECALL and said.get("store") is not False:
        said.pop("previous_response_id", None)
    return said


def _accepted(name: str) -> Fault:
    frame = next(frame for one, _, frame, _ in FRAMES if one == name)
    return Fault(
        f"{name} is answered with a response",
        (f"websocket-errors.{name}",),
        message=lambda text: _VALID if text == frame else text,
    )


TURNS = [
    Fault("done after a turn", ("websocket.frames",), turn=lambda turn: [*turn, "[DONE]"]),
    Fault("a gap in the numbers", ("websocket.events",), turn=_events(number_from(1, t.COMPLETED))),
    Fault(
        "null where a number belongs",
        ("websocket.shapes",),
        turn=_events(put(t.CREATED, "response", "top_p", value=None)),
    ),
    Fault(
        "the end differs from GET",
        ("websocket.get-equal",),
        turn=_events(put(t.COMPLETED, "response", "usage", "output_tokens", value=0)),
    ),
    Fault(
        "mixed turns",
        ("websocket.in-order",),
        turn=_Held(lambda first, second: [first[0], second[0], *first[1:], *second[1:]]),
    ),
    Fault("swapped turns", ("websocket.in-order",), turn=_Held(lambda first, second: [*second, *first])),
    Fault(
        "stream is refused",
        ("websocket.http-fields",),
        message=_says(lambda said: said | ({"max_output_tokens": 1} if "stream" in said else {})),
    ),
    Fault("background is taken", ("websocket.background",), message=_without("background")),
    Fault("stream_id is taken", ("websocket.stream-id",), message=_without("stream_id")),
    Fault("generate is overlooked", ("websocket.generate",), message=_without("generate")),
]

REFUSALS = [
    Fault(
        "an error without a message",
        ("websocket-errors.envelope",),
        turn=_error("model_not_found", message=""),
    ),
    Fault(
        "a type of another API",
        ("websocket-errors.types",),
        turn=_error("model_not_found", type="invalid_request_error"),
    ),
    Fault("a wrong status", ("websocket-errors.statuses",), turn=_error("model_not_found", status=500)),
    Fault("no param", ("websocket-errors.param",), turn=_error("invalid_value", param=None)),
    *map(_accepted, ("malformed", "no-object", "no-type", "unknown-type", "empty")),
]

MEMORY = [
    Fault(
        "a turn is forgotten", ("websocket-chains.continue", "websocket-chains.http"), message=_says(_forget)
    ),
    Fault("nothing is evicted", ("websocket-chains.evicted",), message=_says(_fail_elsewhere)),
    Fault(
        "store false is stored",
        ("websocket-chains.elsewhere", "websocket-chains.evicted"),
        message=_without("store"),
    ),
]
