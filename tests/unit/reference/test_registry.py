"""The registry of the calls and the URL configuration tell the same, and so do that of the errors and the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from django.urls import resolve
from django.urls.resolvers import URLPattern

from responses_api.http import urls
from responses_api.http.reference.call import Call
from responses_api.http.reference.calls import CALLS
from responses_api.http.reference.events import events
from responses_api.http.reference.refusals import EVERY
from responses_api.http.routing import ENDPOINTS
from responses_api.protocol import event_types
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.receipts import STEPS
from responses_api.protocol.server_tools import ARGUMENTS_DELTAS, ARGUMENTS_DONES, step_event

ROOT = Path(__file__).parents[3]


def served(pattern: URLPattern) -> set[str]:
    """The methods at an address, whoever answers them."""
    methods = {name for name in ("get", "post", "put", "patch", "delete") if hasattr(view(pattern), name)}
    methods |= {"post" for path in ENDPOINTS if pattern_at(path) is pattern}
    return methods | {"get" for path in ("/v1/files/x/content",) if pattern_at(path) is pattern}


def view(pattern: URLPattern) -> Any:
    return vars(pattern.callback)["view_class"]


def pattern_at(path: str) -> URLPattern:
    """The URL pattern of an address."""
    found = resolve(path, urlconf=urls.__name__).route
    return next(pattern for pattern in urls.urlpatterns if str(pattern.pattern) == found)


def pattern_of(call: Call) -> URLPattern:
    """The URL pattern that answers a call."""
    return pattern_at(re.sub(r"\{\w+\}", "x", call.path))


def test_every_described_call_is_served() -> None:
    for call in CALLS:
        assert call.method in served(pattern_of(call)), call.name


def test_every_served_call_is_described() -> None:
    described = {(str(pattern_of(call).pattern), call.method) for call in CALLS}
    for pattern in urls.urlpatterns:
        for method in served(pattern):
            assert (str(pattern.pattern), method) in described, (
                f"{method} {pattern.pattern} has no entry in calls.py"
            )


def test_parameters_of_the_path_are_those_of_the_address() -> None:
    for call in CALLS:
        named = [parameter.name for parameter in call.parameters if parameter.place == "path"]
        assert named == re.findall(r"\{(\w+)\}", call.path), call.name


def sources() -> Iterator[str]:
    """The code of the service, without the reference's own."""
    for room in ("responses_api", "tenants", "workers"):
        for path in (ROOT / room).rglob("*.py"):
            if not {"reference", "conformance"} & {*path.parts}:
                yield path.read_text()


def given_codes(source: str) -> Iterator[str]:
    """What stands after `code=`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.keyword(arg="code", value=ast.Constant(value=str(code))):
                yield code


def test_every_code_of_an_error_is_described() -> None:
    described = {refusal.example.code for refusal in EVERY}
    assert {code for source in sources() for code in given_codes(source)} - described == set()


def test_every_described_code_is_one_that_the_service_gives() -> None:
    whole = "".join(sources())
    codes = {refusal.example.code for refusal in EVERY if refusal.example.code}
    assert [code for code in sorted(codes) if f'"{code}"' not in whole] == []


def events_of_receipts() -> set[str]:
    """The events of the tools that the service runs: under its own names and under OpenAI's."""
    dialects: tuple[Dialect, ...] = get_args(Dialect)
    steps = {step_event(kind, step, d) for kind, steps in STEPS.items() for step in steps for d in dialects}
    return steps | ARGUMENTS_DELTAS | ARGUMENTS_DONES


def test_every_described_event_has_a_name_of_the_protocol_and_every_name_is_described() -> None:
    described = {name for event in events() for name in event.names}
    named = {value for name, value in vars(event_types).items() if name.isupper() and isinstance(value, str)}
    assert described == named | events_of_receipts()
