"""The small changes that faults are made of."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

from responses_api.protocol.plain import Json
from tests.support.faults.fault import Call, Reply

Events = list[Json]
NEVER = "resp_" + "0" * 44


def find(events: Events, kind: str) -> int:
    """Where the first event of this type is; behind the last one where there is none."""
    return next((index for index, event in enumerate(events) if event["type"] == kind), len(events))


def drop(kind: str) -> Callable[[Events], Events]:
    """Lose the first event of this type."""

    def change(events: Events) -> Events:
        at = find(events, kind)
        return [*events[:at], *events[at + 1 :]]

    return change


def repeat(kind: str) -> Callable[[Events], Events]:
    """Tell the first event of this type twice."""

    def change(events: Events) -> Events:
        at = find(events, kind)
        return [*events[: at + 1], deepcopy(events[at]), *events[at + 1 :]]

    return change


def insert(event: Json, after: str) -> Callable[[Events], Events]:
    """Tell one event more, behind the first of the type `after`."""

    def change(events: Events) -> Events:
        at = find(events, after)
        return [*events[: at + 1], deepcopy(event), *events[at + 1 :]]

    return change


def put(kind: str, *path: str | int, value: Any) -> Callable[[Events], Events]:
    """Change a value in the first event of this type."""

    def change(events: Events) -> Events:
        set_in(events[find(events, kind)], *path, value=value)
        return events

    return change


def number_from(first: int, kind: str) -> Callable[[Events], Events]:
    """Number from the first event of this type on by `first` more."""

    def change(events: Events) -> Events:
        for event in events[find(events, kind) :]:
            event["sequence_number"] += first
        return events

    return change


def in_response(*path: str | int, value: Any) -> Callable[[Json], Json]:
    """Change a value in a response."""

    def change(response: Json) -> Json:
        set_in(response, *path, value=value)
        return response

    return change


def without(name: str) -> Callable[[Json], Json]:
    """Leave a field out of a response."""
    return lambda response: {key: value for key, value in response.items() if key != name}


def set_in(target: Any, *path: str | int, value: Any) -> None:
    """Set what is at the end of the path."""
    *steps, last = path
    for step in steps:
        target = target[step]
    target[last] = value


def status(code: int) -> Callable[[Reply], Reply]:
    """Answer with another status."""
    return lambda reply: replace(reply, status=code)


def content_type(kind: str) -> Callable[[Reply], Reply]:
    """Answer with another Content-Type."""
    return lambda reply: replace(reply, headers={**reply.headers, "content-type": kind})


def in_body(*path: str | int, value: Any) -> Callable[[Reply], Reply]:
    """Change a value in the body of an answer."""

    def change(reply: Reply) -> Reply:
        body = reply.body
        set_in(body, *path, value=value)
        return reply.with_body(body)

    return change


def asking(**fields: Any) -> Callable[[Call], Call]:
    """Ask for something else; a value of None leaves the field out."""

    def change(call: Call) -> Call:
        body = {**call.body, **fields}
        return call.with_body({name: value for name, value in body.items() if value is not None})

    return change


def creates(**fields: Any) -> Callable[[Call], bool]:
    """A call that asks for a response with these fields among others."""
    return lambda call: call.is_create and all(call.body.get(name) == fields[name] for name in fields)


def creates_only(**fields: Any) -> Callable[[Call], bool]:
    """A call that asks for a response with these fields, the model, and nothing else."""
    return lambda call: call.is_create and {**call.body, "model": None} == {**fields, "model": None}


def at(method: str, path: str) -> Callable[[Call], bool]:
    """A call of this method whose path, with its query, begins so."""
    return lambda call: call.method == method and call.path.startswith(path)


def echo(name: str, value: Any) -> Callable[[Json], Json]:
    """Show another value in a field of the response."""
    return lambda response: {**response, name: value}


def says(text: bytes) -> Callable[[Call], bool]:
    """A call that asks for a response and holds this text."""
    return lambda call: call.is_create and text in call.raw


def last_said(call: Call) -> Any:
    """The content of the last item of an input that is a list."""
    given = call.body.get("input")
    return given[-1].get("content") if isinstance(given, list) and given else None


def only(code: int, change: Callable[[Reply], Reply]) -> Callable[[Reply], Reply]:
    """Change the answers with this status alone."""
    return lambda reply: change(reply) if reply.status == code else reply


def page(**fields: Any) -> Callable[[Reply], Reply]:
    """Show other values in the fields of a list."""
    return lambda reply: reply.with_body({**reply.body, **fields}) if "data" in reply.body else reply


def names_never(call: Call) -> bool:
    """A call that continues a response that never was."""
    return call.is_create and call.body.get("previous_response_id") == NEVER
