"""Faults of chains."""

from responses_api.conformance.prompts import HELLO, RECALL, WEATHER_QUESTION
from responses_api.protocol.plain import Json
from tests.support.faults.changes import (
    NEVER,
    asking,
    creates,
    echo,
    in_body,
    last_said,
    names_never,
    says,
    status,
)
from tests.support.faults.fault import Call, Fault


class _Memory:
    """A server that never forgets instructions."""

    def __init__(self) -> None:
        self._latest: str | None = None

    def inherit(self, call: Call) -> Call:
        """Ask again with the latest instructions that hid a code word."""
        told = call.body.get("instructions")
        if told and "Do not say it" in told:
            self._latest = told
        if call.body.get("previous_response_id") and call.body.get("input") == RECALL and self._latest:
            return asking(instructions=self._latest)(call)
        return call


class _Tangled:
    """A server whose continuations of one response all follow the latest one."""

    def __init__(self) -> None:
        self._root: str | None = None
        self._latest: str | None = None

    def ask(self, call: Call) -> Call:
        """Continue what was told the code word, where its root is meant."""
        said, previous = str(call.body.get("input")), call.body.get("previous_response_id")
        if previous and said.startswith("The code word is"):
            self._root = previous
        if previous and previous == self._root and said == RECALL:
            return asking(previous_response_id=self._latest)(call)
        return call

    def learn(self, response: Json) -> Json:
        """Remember the latest continuation."""
        if self._root and response["previous_response_id"] == self._root:
            self._latest = response["id"]
        return response


class _Whole:
    """A server that continues only what is complete."""

    def __init__(self) -> None:
        self._cut: set[str] = set()

    def ask(self, call: Call) -> Call:
        """Continue something else."""
        is_cut = call.body.get("previous_response_id") in self._cut
        return asking(previous_response_id=NEVER)(call) if is_cut else call

    def learn(self, response: Json) -> Json:
        """Remember what is incomplete."""
        if response["status"] == "incomplete":
            self._cut.add(response["id"])
        return response


_tangled, _whole = _Tangled(), _Whole()


def _continues(call: Call, said: str) -> bool:
    return creates(input=said)(call) and bool(call.body.get("previous_response_id"))


CHAINS = [
    Fault(
        "a chain is forgotten",
        ("chains.continue",),
        lambda call: _continues(call, RECALL) and not call.body.get("stream"),
        call=asking(previous_response_id=None),
    ),
    Fault(
        "a streamed chain is forgotten",
        ("chains.continue-stream",),
        lambda call: _continues(call, RECALL) and bool(call.body.get("stream")),
        call=asking(previous_response_id=None),
    ),
    Fault(
        "a continuation does not name what it continues",
        ("chains.echo",),
        lambda call: _continues(call, HELLO),
        response=echo("previous_response_id", None),
    ),
    Fault(
        "instructions are carried over",
        ("chains.instructions",),
        creates(),
        call=_Memory().inherit,
        response=lambda told: {**told, "instructions": None} if told["previous_response_id"] else told,
    ),
    Fault("forks are tangled", ("chains.fork",), creates(), call=_tangled.ask, response=_tangled.learn),
    Fault(
        "only what is whole is continued",
        ("chains.cut-short",),
        creates(),
        call=_whole.ask,
        response=_whole.learn,
    ),
    Fault(
        "an empty continuation is refused",
        ("chains.empty-input",),
        lambda call: call.is_create and call.body.keys() == {"model", "previous_response_id"},
        reply=status(400),
    ),
    Fault(
        "tools are carried over",
        ("chains.tools",),
        lambda call: _continues(call, WEATHER_QUESTION),
        response=echo("tools", [{"type": "function", "name": "get_weather"}]),
    ),
    Fault(
        "an unknown chain is refused without its field",
        ("chains.unknown-param",),
        says(b"not-even-an-id"),
        reply=in_body("error", "param", value=None),
    ),
    Fault("an output is refused", ("chains.answer",), says(b"It is cedar"), reply=status(400)),
    Fault(
        "a replayed call is refused",
        ("chains.replay-call",),
        lambda call: says(b'"Sunny."')(call) and "previous_response_id" not in call.body,
        reply=status(400),
    ),
    Fault(
        "an unknown chain is begun anew",
        ("chains.unknown",),
        names_never,
        call=asking(previous_response_id=None),
    ),
    Fault(
        "an open call is overlooked",
        ("chains.unanswered-call",),
        says(b"call_open"),
        call=asking(input=HELLO),
    ),
    Fault(
        "an orphan is overlooked", ("chains.orphan-output",), says(b"call_nowhere"), call=asking(input=HELLO)
    ),
    Fault(
        "a client's own chain is cut",
        ("chains.replay",),
        lambda call: call.is_create and last_said(call) == RECALL,
        call=asking(input=RECALL),
    ),
]
