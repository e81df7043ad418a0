"""A thousand requests with one fault each: every one is refused with its place, and leaves nothing behind."""

import gzip
import json
import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Final

from pytest_django import Settings

from tests.integration.fixtures import MODEL
from tests.support.asgi import AsgiServer
from tests.support.client import Answer, Client, Json
from tests.support.websocket import Socket

COUNT: Final = 1000
BODY: Final[Json] = {
    "model": MODEL,
    "instructions": "Be brief.",
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "a"}]},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "b"},
                {"type": "input_image", "image_url": "https://pics.test.invalid/a.png", "detail": "low"},
                {"type": "input_file", "filename": "f", "file_data": "AAAA"},
            ],
        },
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "c"}]},
        {
            "type": "message",
            "role": "assistant",
            "phase": "commentary",
            "content": [
                {
                    "type": "output_text",
                    "text": "d",
                    "annotations": [
                        {
                            "type": "url_citation",
                            "start_index": 0,
                            "end_index": 1,
                            "url": "https://h",
                            "title": "H",
                        }
                    ],
                },
                {"type": "refusal", "refusal": "no"},
            ],
        },
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": [{"type": "input_text", "text": "e"}],
        },
    ],
    "tools": [
        {
            "type": "function",
            "name": "look",
            "description": "d",
            "parameters": {"type": "object"},
            "strict": True,
        }
    ],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]},
    "metadata": {"key": "value"},
    "include": ["message.output_text.logprobs"],
    "reasoning": {"effort": "low", "summary": "auto"},
    "text": {
        "verbosity": "low",
        "format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}},
    },
    "stream_options": {"include_obfuscation": False},
    "temperature": 1,
    "top_p": 0.5,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "max_output_tokens": 100,
    "max_tool_calls": 3,
    "top_logprobs": 2,
    "parallel_tool_calls": True,
    "store": True,
    "stream": False,
    "background": False,
    "truncation": "disabled",
    "service_tier": "default",
    "safety_identifier": "s",
    "prompt_cache_key": "p",
}
# JSON Schemas are the client's own: any object is one. The rest of a place decides what a wrong value is.
_FREE: Final = ("tools[0].parameters", "text.format.schema")
_REQUIRED: Final = ("role", "content", "call_id", "name", "arguments", "output", "url", "title", "text")
_REFUSED: Final = frozenset({400, 404})

Place = tuple[str, list[str | int], Any]
Fault = tuple[Any, str | None]
"""A body (an object, or bytes), and where its fault is; None where it has no place."""


def places(value: Any, path: str = "", steps: tuple[str | int, ...] = ()) -> Iterator[Place]:
    """Every place in a body, with its path as errors write it and its value."""
    if path in _FREE:
        return
    if steps:
        yield path, list(steps), value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, entry in inner:
        below = f"{path}[{step}]" if isinstance(step, int) else f"{path}.{step}" if path else step
        yield from places(entry, below, (*steps, step))


PLACES: Final = list(places(BODY))


def changed(steps: list[str | int], change: Callable[[Any, Any], None]) -> Json:
    body = deepcopy(BODY)
    holder: Any = body
    for step in steps[:-1]:
        holder = holder[step]
    change(holder, steps[-1])
    return body


def put(steps: list[str | int], value: Any) -> Json:
    return changed(steps, lambda holder, step: holder.__setitem__(step, value))


def wrong_type(chance: random.Random) -> Fault:
    path, steps, value = chance.choice(PLACES)
    # A number where a string belongs, and so on; an object is right nowhere that holds something else.
    others = [5, 0.5, "x", True, [], {}, [{}]]
    kind = type(value)
    if isinstance(value, bool):
        others = [5, "x", [], {}]
    elif isinstance(value, int | float):
        others = ["x", True, [], {}]
    elif isinstance(value, str):
        others = [5, 0.5, True, [{}]]
    others = [
        other
        for other in others
        if type(other) is not kind and not (isinstance(value, list) and other == "x")
    ]
    return put(steps, chance.choice(others)), path


def nothing_where_something_must_be(chance: random.Random) -> Fault:
    path, steps, _ = chance.choice(
        [
            place
            for place in PLACES
            if place[0] == "model" or (place[1][-1] in _REQUIRED and len(place[1]) > 2)
        ]
    )
    if chance.random() < 0.5:
        return put(steps, None), path
    return changed(steps, lambda holder, step: holder.pop(step)), path


def unknown_word(chance: random.Random) -> Fault:
    words = (
        "type",
        "role",
        "phase",
        "detail",
        "effort",
        "summary",
        "verbosity",
        "truncation",
        "service_tier",
        "mode",
    )
    path, steps, _ = chance.choice(
        [place for place in PLACES if place[1][-1] in words and isinstance(place[2], str)]
    )
    return put(steps, chance.choice(["", "no-such-word", "x" * 5000, "\u202e", "MESSAGE"])), path


def beyond_a_limit(chance: random.Random) -> Fault:
    path, value = chance.choice(
        [
            ("temperature", 2.01),
            ("temperature", -1),
            ("top_p", 1.01),
            ("presence_penalty", -2.5),
            ("frequency_penalty", 1e300),
            ("max_output_tokens", 15),
            ("max_tool_calls", 0),
            ("top_logprobs", 21),
            ("safety_identifier", "x" * 65),
            ("prompt_cache_key", "x" * 65),
            ("metadata", {str(n): "" for n in range(17)}),
            ("metadata", {"k" * 65: ""}),
        ]
    )
    return {**BODY, path: value}, path


def uncarriable(chance: random.Random) -> Fault:
    path, steps, value = chance.choice([place for place in PLACES if isinstance(place[2], str)])
    at = chance.randrange(len(value) + 1)
    return put(steps, value[:at] + "\0" + value[at:]), path


def lone_surrogate(chance: random.Random) -> Fault:
    _, steps, _ = chance.choice([place for place in PLACES if isinstance(place[2], str)])
    return json.dumps(put(steps, "~")).replace(
        '"~"', chance.choice(['"\\ud83d"', '"\\ude00x"'])
    ).encode(), None


def too_deep(chance: random.Random) -> Fault:
    _, steps, _ = chance.choice(PLACES)
    depth = chance.choice([600, 1500, 100_000])
    return json.dumps(put(steps, "~")).replace('"~"', "[" * depth + "]" * depth).encode(), None


def truncated(chance: random.Random) -> Fault:
    raw = json.dumps(BODY).encode()
    return raw[: chance.randrange(len(raw))], None


def garbled(chance: random.Random) -> Fault:
    raw = bytearray(json.dumps(BODY).encode())
    for _ in range(3):
        at = chance.choice([at for at, byte in enumerate(raw) if byte in b'{}[]:",'])
        raw[at : at + 1] = chance.choice([b"", b"\xff", b"\x00", b"}", b"]", b'"'])
    try:
        json.loads(raw)
    except ValueError:
        return bytes(raw), None
    return truncated(chance)


FAULTS: Final = [
    *(wrong_type,) * 4,
    nothing_where_something_must_be,
    unknown_word,
    beyond_a_limit,
    uncarriable,
    lone_surrogate,
    too_deep,
    truncated,
    garbled,
]


def faults(count: int) -> Iterator[tuple[str, Fault]]:
    """So many bodies with a fault each, always the same."""
    chance = random.Random(20261130)
    for number in range(count):
        make = FAULTS[number % len(FAULTS)]
        yield make.__name__, make(chance)


def is_at(param: str | None, path: str | None) -> bool:
    """Whether an error names the place, or one inside or around it (a part without a type is at fault as a whole)."""
    if path is None:
        return True
    if path == "tools[0].type" and param == "tool_choice":
        # A tool of any type is well formed; the function that the choice names is then not there.
        return True
    return param is not None and (param.startswith(path) or path.startswith(param))


def assert_refused(kind: str, answer: Answer, path: str | None) -> None:
    assert answer.status in _REFUSED, (kind, path, answer.status, answer.body[:300])
    error = answer.error
    assert error["type"] == "invalid_request", (kind, path, error)
    assert is_at(error["param"], path), (kind, path, error)
    assert len(error["message"]) < 2000


def test_the_body_that_the_faults_are_put_into_is_right(friend: Client) -> None:
    assert friend.request("POST", "/responses", BODY).status == 200


def test_a_thousand_requests_with_a_fault_are_refused_by_its_place_and_leave_nothing(
    untouched: Client,
) -> None:
    most = 0
    for number, (kind, (body, path)) in enumerate(faults(COUNT)):
        assert_refused(kind, untouched.request("POST", "/responses", body), path)
        if number == COUNT // 4:
            tracemalloc.start()
            most, _ = tracemalloc.get_traced_memory()
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left - most < 3_000_000


def test_compressed_requests_with_a_fault_are_refused_alike(untouched: Client, settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 300_000
    chance = random.Random(1)
    for number, (kind, (body, path)) in enumerate(faults(60)):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        packed = gzip.compress(raw, 1)
        headers = {"content-encoding": "gzip", "content-type": "application/json"}
        if number % 3 == 1:
            packed = gzip.compress(b'{"x": "' + b"x" * 20_000_000, 1)
            answer = untouched.request("POST", "/responses", packed, headers)
            assert (answer.status, answer.error["type"]) == (413, "invalid_request")
            continue
        if number % 3 == 2:
            packed, path = packed[: chance.randrange(len(packed))], None
        assert_refused(kind, untouched.request("POST", "/responses", packed, headers), path)


def test_messages_with_a_fault_get_one_error_each_and_the_socket_goes_on(
    server: AsgiServer, untouched: Client
) -> None:
    with Socket(server, untouched.key) as socket:
        for kind, (body, path) in faults(200):
            if isinstance(body, bytes):
                try:
                    text = body.decode()
                except UnicodeDecodeError:
                    continue  # a server refuses such a frame before the application sees it
                socket.send(text)
            else:
                if path is not None and path.startswith(("stream", "background")):
                    continue  # which say nothing here, or have an error of their own
                socket.send({**body, "type": "response.create"})
            envelope = socket.read_error()
            assert envelope["status"] in _REFUSED, (kind, path, envelope)
            assert is_at(envelope["error"]["param"], path), (kind, path, envelope)


def test_each_kind_of_fault_is_among_them() -> None:
    kinds = Counter(kind for kind, _ in faults(COUNT))
    assert kinds.keys() == {make.__name__ for make in FAULTS}
    assert min(kinds.values()) > 50
