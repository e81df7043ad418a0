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
from tests.support.faults.proxy import BINARY

NEVER = "resp_" + "0" * 44
_VALID = json.dumps({"type": "response.create", "model": "test-model", "input": HELLO})


def _events(change: Callable[[Events], Events]) -> Callable[[list[str]], list[str]]:
    """Change the events of a turn that is a response."""

    def changed(turn: list[str]) -> list[str]:
        events = [json.loads(text) for text in turn]
        return [json.dumps(event) for event in change(events)] if events[0]["type"] == t.CREATED else turn

    return changed


def _error(code: str, /, *, status: int | None = None, **fields: Any) -> Callable[[list[str]], list[str]]:
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


def _not_here(said: Json) -> Json:
    """A response that is not stored is not found, not even on its own connection."""
    if said.get("store") is False and said.get("previous_response_id"):
        said["previous_response_id"] = NEVER
    return said


class _Sulking:
    """A connection that answers nothing any more when its first message was refused."""

    def __init__(self) -> None:
        self._count = 0
        self._sulks = False

    def say(self, said: Json) -> Json:
        """Refuse this message, too."""
        self._sulks = self._sulks or (self._count == 0 and said.get("max_output_tokens") == 1)
        self._count += 1
        is_plain = said == json.loads(_VALID)
        return said | ({"max_output_tokens": 1} if self._sulks and is_plain else {})


class _LateError:
    """A connection that tells an error after the response to the next message."""

    def __init__(self) -> None:
        self._follows_response = False
        self._held: list[str] = []

    def turn(self, turn: list[str]) -> list[str]:
        """Hold an error that follows a response."""
        if self._follows_response and json.loads(turn[-1])["type"] == "error":
            self._held = turn
            return []
        self._follows_response = json.loads(turn[-1])["type"] != "error"
        held, self._held = self._held, []
        return [*turn, *held]


def _no_deltas(events: Events) -> Events:
    return [event for event in events if event["type"] != t.OUTPUT_TEXT_DELTA]


def _forget(said: Json) -> Json:
    if said.get("input") == RECALL and said.get("store") is not False:
        said.pop("previous_response_id", None)
    return said


def _accepted(name: str) -> Fault:
    frame = BINARY if name == "binary" else next(frame for one, _, frame, _ in FRAMES if one == name)
    return Fault(
        f"{name} is answered with a response",
        (f"websocket-errors.{name}",),
        message=lambda text: _VALID if text == frame else text,
    )


TURNS = [
    Fault("no text before its end", ("websocket.same-types", "websocket.events"), turn=_events(_no_deltas)),
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
        "another code for an unknown chain",
        ("websocket-errors.unknown-previous",),
        turn=_error("previous_response_not_found", code="not_found"),
    ),
    Fault(
        "nothing is answered after an error",
        ("websocket-errors.usable",),
        fresh=lambda: Fault("", (), message=_says(_Sulking().say)),
    ),
    Fault(
        "an error comes late",
        ("websocket-errors.in-order",),
        fresh=lambda: Fault("", (), turn=_LateError().turn),
    ),
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
    *map(_accepted, ("malformed", "no-object", "no-type", "unknown-type", "binary", "empty")),
]

MEMORY = [
    Fault("nothing is remembered", ("websocket-chains.not-stored",), message=_says(_not_here)),
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
