"""Faults of validation: one limit after the other is not kept."""

from responses_api.conformance.prompts import HELLO
from responses_api.conformance.rules.validation import LIMITS, Limit
from tests.support.faults.changes import asking, at, creates, status
from tests.support.faults.fault import Fault


def _lenient(limit: Limit) -> Fault:
    """The server takes what it should refuse."""
    given = {"input": HELLO, **limit.fields}
    instead = dict.fromkeys(limit.fields) | {"input": HELLO}
    rules = (f"validation.{limit.name}",)
    return Fault(f"{limit.name} is not checked", rules, creates(**given), call=asking(**instead))


VALIDATION_FAULTS = [
    *map(_lenient, LIMITS),
    Fault(
        "a text of any length is taken",
        ("validation.text-length",),
        lambda call: len(call.raw) > 10_485_760,
        call=asking(input=HELLO),
    ),
    Fault(
        "a refused request is kept",
        ("validation.nothing-kept",),
        at("GET", "/responses?limit=100"),
        reply=lambda reply: reply.with_body({"data": [{"metadata": {"conformance": "refused"}}]}),
    ),
    Fault("500 for U+0000", ("validation.nul",), lambda call: b"\\u0000" in call.raw, reply=status(500)),
    Fault(
        "500 for a surrogate",
        ("validation.surrogate",),
        lambda call: b"\\ud800" in call.raw,
        reply=status(500),
    ),
    Fault(
        "500 for deep nesting",
        ("validation.nesting",),
        lambda call: b"[[[[[[[[" in call.raw,
        reply=status(500),
    ),
    Fault(
        "limits are too low",
        ("validation.limits-kept",),
        creates(safety_identifier="s" * 64),
        reply=status(400),
    ),
    Fault(
        "an empty request is answered",
        ("validation.no-input",),
        lambda call: call.is_create and call.body.keys() == {"model"},
        call=asking(input=HELLO),
    ),
]
