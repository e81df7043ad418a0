"""Faults of what the service does: chains, tools, what is stored, and what clients may send."""

from collections.abc import Callable
from typing import Any

from responses_api.conformance.prompts import HELLO, RECALL, WEATHER_QUESTION
from responses_api.protocol.plain import Json
from tests.support.faults.changes import asking, at, creates, creates_only, in_body, status
from tests.support.faults.fault import Call, Fault, Reply

NEVER = "resp_" + "0" * 44


def _echo(name: str, value: Any) -> Callable[[Json], Json]:
    return lambda response: {**response, name: value}


def _says(text: bytes) -> Callable[[Call], bool]:
    """A call that asks for a response and holds this text."""
    return lambda call: call.is_create and text in call.raw


def last_said(call: Call) -> Any:
    """The content of the last item of an input that is a list."""
    given = call.body.get("input")
    return given[-1].get("content") if isinstance(given, list) and given else None


# ---- chains


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


def _names_never(call: Call) -> bool:
    return call.is_create and call.body.get("previous_response_id") == NEVER


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
        response=_echo("previous_response_id", None),
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
        response=_echo("tools", [{"type": "function", "name": "get_weather"}]),
    ),
    Fault(
        "an unknown chain is refused without its field",
        ("chains.unknown-param",),
        _says(b"not-even-an-id"),
        reply=in_body("error", "param", value=None),
    ),
    Fault("an output is refused", ("chains.answer",), _says(b"It is cedar"), reply=status(400)),
    Fault(
        "a replayed call is refused",
        ("chains.replay-call",),
        lambda call: _says(b'"Sunny."')(call) and "previous_response_id" not in call.body,
        reply=status(400),
    ),
    Fault(
        "an unknown chain is begun anew",
        ("chains.unknown",),
        _names_never,
        call=asking(previous_response_id=None),
    ),
    Fault(
        "an open call is overlooked",
        ("chains.unanswered-call",),
        _says(b"call_open"),
        call=asking(input=HELLO),
    ),
    Fault(
        "an orphan is overlooked", ("chains.orphan-output",), _says(b"call_nowhere"), call=asking(input=HELLO)
    ),
    Fault(
        "a client's own chain is cut",
        ("chains.replay",),
        lambda call: call.is_create and last_said(call) == RECALL,
        call=asking(input=RECALL),
    ),
]

# ---- tools

_WEATHER = {"type": "function", "name": "get_weather"}
_TIME = {"type": "function", "name": "get_time"}
_BARE = {"type": "function", "name": "do_nothing"}


def _twice(response: Json) -> Json:
    return {**response, "output": [*response["output"], *response["output"]]}


def _with_call(**fields: Any) -> Callable[[Json], Json]:
    def change(response: Json) -> Json:
        output = [
            {**item, **fields} if item["type"] == "function_call" else item for item in response["output"]
        ]
        return {**response, "output": output}

    return change


def _may_choose(call: Call) -> bool:
    choice = call.body.get("tool_choice")
    allows = (
        isinstance(choice, dict) and choice.get("type") == "allowed_tools" and choice.get("mode") == "auto"
    )
    return allows and call.body["input"] == WEATHER_QUESTION


TOOLS = [
    Fault(
        "none is not heeded",
        ("tools.none",),
        creates(input=WEATHER_QUESTION, tool_choice="none"),
        call=asking(tool_choice="required"),
    ),
    Fault(
        "required is not heeded",
        ("tools.required",),
        creates(input=HELLO, tool_choice="required"),
        call=asking(tool_choice="none"),
    ),
    Fault(
        "another function is called",
        ("tools.named",),
        creates(input=WEATHER_QUESTION, tool_choice=_TIME),
        call=asking(tool_choice=_WEATHER),
    ),
    Fault(
        "a call that is not allowed",
        ("tools.allowed",),
        lambda call: _may_choose(call) and not call.body.get("stream"),
        call=asking(tool_choice=_WEATHER),
    ),
    Fault(
        "a call that is not allowed, streamed",
        ("tools.allowed-stream",),
        lambda call: _may_choose(call) and bool(call.body.get("stream")),
        call=asking(tool_choice=_WEATHER),
    ),
    Fault(
        "two calls instead of one",
        ("tools.parallel",),
        creates(parallel_tool_calls=False, tool_choice=None),
        response=_twice,
    ),
    Fault(
        "a turn with a call is not completed",
        ("tools.auto",),
        creates(input=WEATHER_QUESTION, tool_choice=None),
        response=_echo("status", "incomplete"),
    ),
    Fault(
        "another call than the allowed one",
        ("tools.allowed-required",),
        lambda call: (
            isinstance(call.body.get("tool_choice"), dict)
            and call.body["tool_choice"].get("mode") == "required"
        ),
        call=asking(tool_choice=_TIME),
    ),
    Fault(
        "an output in parts is refused",
        ("tools.output-parts",),
        _says(b'"input_text","text":"It is sunny."'),
        reply=status(400),
    ),
    Fault("more calls than allowed", ("tools.max-calls",), creates(max_tool_calls=1), response=_twice),
    Fault(
        "arguments that are no JSON",
        ("tools.shape",),
        creates(input=WEATHER_QUESTION, tool_choice="required", stream=None),
        response=_with_call(arguments="{"),
    ),
    Fault(
        "a tool is echoed in part", ("tools.echo",), _says(b"do_nothing"), response=_echo("tools", [_BARE])
    ),
    Fault(
        "a choice is echoed as another",
        ("tools.choice-echo",),
        creates(input=HELLO, tool_choice="auto"),
        response=_echo("tool_choice", "required"),
    ),
    Fault(
        "a tool type is refused without its place",
        ("tools.type-named",),
        lambda call: _says(b"teleport")(call) and len(call.body["tools"]) == 2,
        reply=in_body("error", "param", value="tools"),
    ),
]

# ---- what is stored


def _page(**fields: Any) -> Callable[[Reply], Reply]:
    return lambda reply: reply.with_body({**reply.body, **fields}) if "data" in reply.body else reply


def _turned(reply: Reply) -> Reply:
    return (
        reply.with_body({**reply.body, "data": reply.body["data"][::-1]}) if "data" in reply.body else reply
    )


def only(code: int, change: Callable[[Reply], Reply]) -> Callable[[Reply], Reply]:
    """Change the answers with this status alone."""
    return lambda reply: change(reply) if reply.status == code else reply


STORED = [
    Fault(
        "another code for an unknown chain",
        ("chains.unknown", "stored.unknown-alike", "stored.foreign-alike"),
        _names_never,
        reply=in_body("error", "code", value="not_found"),
    ),
    Fault("the list is turned", ("stored.list-order",), at("GET", "/responses?limit=100"), reply=_turned),
    Fault(
        "there is never more",
        ("stored.list-pages",),
        at("GET", "/responses?order=desc"),
        reply=_page(has_more=False),
    ),
    Fault(
        "any limit is taken",
        ("stored.list-limits",),
        at("GET", "/responses?limit=101"),
        call=lambda call: Call(call.method, "/responses?limit=100", call.headers, call.raw),
    ),
    Fault(
        "a deletion is told otherwise",
        ("stored.delete",),
        at("DELETE", "/responses/"),
        reply=only(200, in_body("deleted", value=False)),
    ),
    Fault(
        "nothing is deleted",
        ("stored.delete", "stored.unknown-alike", "chains.deleted", "chains.deleted-in-the-middle"),
        at("DELETE", "/responses/resp_01"),
        call=lambda call: Call("GET", call.path, call.headers, b""),
        reply=only(200, in_body("deleted", value=True)),
    ),
    Fault(
        "store false is stored",
        ("stored.not-stored", "chains.not-stored"),
        creates_only(input=HELLO, store=False),
        call=asking(store=None),
    ),
    Fault(
        "input items are turned",
        ("stored.input-items",),
        lambda call: "/input_items" in call.path,
        reply=_turned,
    ),
    Fault(
        "what was is told apart from what never was",
        ("stored.unknown-alike", "stored.foreign-alike"),
        lambda call: (
            call.method == "GET" and call.path.startswith("/responses/resp_") and NEVER not in call.path
        ),
        reply=only(404, in_body("error", "message", value="It is gone.")),
    ),
]

# ---- what clients may send


def _refuses(name: str, rule: str, concerns: Callable[[Call], bool]) -> Fault:
    return Fault(f"{name} refused", (f"tolerance.{rule}",), concerns, reply=status(400))


def _header(call: Call, name: str) -> str:
    return {key.lower(): value for key, value in call.headers.items()}.get(name, "")


def _same_id(events: list[Json]) -> list[Json]:
    for event in events:
        if "response" in event:
            event["response"]["id"] = "resp_same"
    return events


TOLERANCE = [
    _refuses("more nulls are", "more-nulls", lambda call: call.body.get("store", 0) is None),
    _refuses("a bare message is", "bare-message", creates(input=[{"role": "user", "content": HELLO}])),
    _refuses("messages of the system are", "roles", _says(b'"role":"system"')),
    _refuses("items with ids of a client are", "replayed", _says(b"msg_made_by_a_client")),
    _refuses("replayed reasoning is", "reasoning", _says(b'"rs_1"')),
    _refuses("items of vendors are", "vendor-items", _says(b"acme:note")),
    _refuses("a charset is", "charset", lambda call: _header(call, "content-type").endswith("utf-8")),
    _refuses(
        "a bearer in lower case is",
        "bearer",
        lambda call: _header(call, "authorization").startswith("bearer"),
    ),
    _refuses("an image without its place is", "image", _says(b"data:image/png")),
    Fault(
        "two streams of one response",
        ("tolerance.two-at-once",),
        creates_only(input=HELLO, stream=True),
        events=_same_id,
    ),
    Fault(
        "a model has another name",
        ("models.one",),
        at("GET", "/models/test-model"),
        reply=in_body("id", value="other"),
    ),
    Fault(
        "nulls are refused",
        ("tolerance.nulls",),
        lambda call: call.body.get("top_p", 0) is None,
        reply=status(400),
    ),
    Fault(
        "unknown fields are refused",
        ("tolerance.unknown-fields",),
        creates(conformance=True),
        reply=status(400),
    ),
    Fault(
        "406",
        ("tolerance.accept",),
        lambda call: "text/html" in call.headers.values() and not call.body.get("stream"),
        reply=status(406),
    ),
    Fault("no slash", ("tolerance.slash",), lambda call: call.path == "/responses/", reply=status(404)),
    Fault("no gzip", ("tolerance.gzip",), lambda call: call.raw[:2] == b"\x1f\x8b", reply=status(400)),
    Fault(
        "text is harmed",
        ("tolerance.unicode",),
        lambda call: "\u2028" in str(call.body.get("instructions")),
        response=_echo("metadata", {"text": "?"}),
    ),
    Fault(
        "the server's own items are refused",
        ("tolerance.own-items",),
        lambda call: _says(b'"id":"msg_0')(call) and last_said(call) == HELLO,
        reply=status(400),
    ),
    Fault(
        "the model is not listed", ("models.list",), lambda call: call.path == "/models", reply=_page(data=[])
    ),
]
