"""Faults of what is asked again: the replay of streams, and idempotency."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from responses_api.conformance.prompts import GOODBYE, HELLO
from responses_api.protocol import event_types as t
from tests.support.faults.changes import NEVER, at, drop, in_body, status
from tests.support.faults.fault import Call, Fault


def _replays(call: Call) -> bool:
    return call.method == "GET" and "stream=true" in call.path


def _starts_after(call: Call) -> str | None:
    return next(iter(parse_qs(urlsplit(call.path).query).get("starting_after", ())), None)


def _goes_on(call: Call) -> bool:
    """A replay from some event on, other than the first."""
    after = _starts_after(call)
    return _replays(call) and after is not None and after.isdigit() and after != "0"


def _one_earlier(call: Call) -> Call:
    number = int(_starts_after(call) or 0)
    return replace(call, path=call.path.replace(f"starting_after={number}", f"starting_after={number - 1}"))


def _from_anywhere(call: Call) -> Call:
    return replace(call, path=call.path.partition("&starting_after")[0])


def _without_key(call: Call) -> Call:
    return replace(call, headers={name: call.headers[name] for name in call.headers if name.lower() != _KEY})


_KEY = "idempotency-key"


def _has_key(call: Call) -> bool:
    return _KEY in {name.lower() for name in call.headers}


REPLAY = [
    Fault(
        "a stream is told again with an event less",
        ("resume.replay", "resume.background"),
        lambda call: _replays(call) and _starts_after(call) is None,
        events=drop(t.OUTPUT_TEXT_DONE),
    ),
    Fault(
        "an event is told twice",
        ("resume.starting-after", "resume.background"),
        lambda call: (
            _replays(call)
            and (_starts_after(call) or "0").isdigit()
            and _starts_after(call) not in (None, "0")
        ),
        call=_one_earlier,
    ),
]

PLACES = [
    Fault(
        "500 for the stream of an unknown response",
        ("resume.unknown",),
        lambda call: _replays(call) and NEVER in call.path,
        reply=status(500),
    ),
    Fault(
        "any place is taken",
        ("resume.wrong-place",),
        lambda call: _starts_after(call) == "1.5",
        call=_from_anywhere,
    ),
    Fault(
        "a plain GET is another response",
        ("resume.no-stream",),
        lambda call: "stream=false" in call.path,
        reply=in_body("id", value="resp_other"),
    ),
    Fault(
        "the stream of a deleted response is told",
        ("resume.after-delete",),
        at("DELETE", "/responses/resp_"),
        call=lambda call: replace(call, method="GET"),
    ),
]

IDEMPOTENCY = [
    Fault(
        "a key of a JSON request is overlooked",
        ("idempotency.same", "idempotency.other-body"),
        lambda call: _has_key(call) and call.body.get("input") == HELLO and not call.body.get("stream"),
        call=_without_key,
    ),
    Fault(
        "a key of a stream is overlooked",
        ("idempotency.stream",),
        lambda call: _has_key(call) and bool(call.body.get("stream")),
        call=_without_key,
    ),
    Fault(
        "another body is taken",
        ("idempotency.other-body",),
        lambda call: _has_key(call) and call.body.get("input") == GOODBYE,
        call=_without_key,
    ),
]
