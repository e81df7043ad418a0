"""WebSocket: what is refused, how that is told, and that the socket stays usable."""

from responses_api.conformance.outcomes import require
from responses_api.conformance.prompts import HELLO
from responses_api.conformance.registry import Demand, rule
from responses_api.conformance.server import Server
from responses_api.conformance.sockets import Socket, Turn, connect
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import encode

_TYPES = {"server_error", "invalid_request", "not_found", "model_error", "too_many_requests"}


def _error_of(turn: Turn) -> Json:
    turn.code  # noqa: B018  (raises where the message was not refused)
    error = (turn.refusal or {}).get("error")
    return error if isinstance(error, dict) else {}


async def _require_usable(socket: Socket) -> None:
    turn = await socket.turn(input=HELLO)
    require(turn.refusal is None, "after an error the connection answers nothing but errors")


async def _refusals(server: Server) -> list[Turn]:
    async def fetch(own: Server) -> list[Turn]:
        async with connect(own) as socket:
            return [
                await socket.said("{"),
                await socket.turn(input=HELLO, max_output_tokens=1),
                await socket.turn(input=HELLO, model="conformance-no-such-model"),
                await socket.turn(input=HELLO, previous_response_id="resp_" + "0" * 44),
            ]

    return await server.once("websocket refusals", fetch)


@rule(
    "websocket-errors.envelope",
    "A failure is {type: error, status, error: {code, message, param}}.",
    section="WebSocket Errors",
)
async def envelope(server: Server) -> None:
    for turn in await _refusals(server):
        error = _error_of(turn)
        told = turn.refusal or {}
        require(isinstance(told.get("status"), int), f"the status of an error is {told.get('status')!r}")
        for name in ("code", "message"):
            said = error.get(name)
            require(isinstance(said, str) and bool(said), f"the error's {name} is {said!r}")
        param = error.get("param")
        require(param is None or isinstance(param, str), f"the error's param is {param!r}")


@rule(
    "websocket-errors.types", "The error's type, where it has one, is one of the five.", section="Error Types"
)
async def types(server: Server) -> None:
    for turn in await _refusals(server):
        kind = _error_of(turn).get("type")
        require(kind is None or kind in _TYPES, f"the error's type is {kind!r}")


@rule(
    "websocket-errors.statuses",
    "The status is the one of HTTP.",
    section="WebSocket Errors",
    demand="should",
)
async def statuses(server: Server) -> None:
    malformed, wrong, model, previous = await _refusals(server)
    for turn, allowed in ((malformed, {400}), (wrong, {400}), (model, {400, 404}), (previous, {400, 404})):
        told = (turn.refusal or {}).get("status")
        require(told in allowed, f"the status of '{_error_of(turn).get('message')}' is {told!r}")


@rule(
    "websocket-errors.unknown-previous",
    "A previous response that never was is refused with previous_response_not_found.",
    section="WebSocket Continuation",
)
async def unknown_previous(server: Server) -> None:
    turn = (await _refusals(server))[3]
    require(turn.code == "previous_response_not_found", f"the error's code is {turn.code!r}")


@rule(
    "websocket-errors.param",
    "The param is the field's name.",
    section="WebSocket Errors",
    demand="should",
)
async def param(server: Server) -> None:
    told = _error_of((await _refusals(server))[1]).get("param")
    require(told == "max_output_tokens", f"the error's param is {told!r}")


FRAMES: list[tuple[str, str, str | bytes, Demand]] = [
    ("malformed", "A text frame that is no JSON", "{not json", "should"),
    ("no-object", "A text frame that is no object", "[1]", "should"),
    ("no-type", "A message without a type", encode({"input": HELLO}).decode(), "should"),
    ("unknown-type", "A message of an unknown type", encode({"type": "session.update"}).decode(), "should"),
    ("binary", "A binary frame", b"\x00\x01", "extension"),
    ("empty", "An empty frame", "", "extension"),
]


def _register(name: str, what: str, frame: str | bytes, demand: Demand) -> None:
    sentence = f"{what} is refused with an error of status 400, and the connection stays usable."

    @rule(f"websocket-errors.{name}", sentence, section="WebSocket Errors", demand=demand)
    async def check(server: Server) -> None:
        async with connect(server) as socket:
            turn = await socket.said(frame)
            told = (turn.refusal or {}).get("status")
            require(told == 400, f"the frame is answered with the status {told!r}")
            await _require_usable(socket)


for _entry in FRAMES:
    _register(*_entry)


@rule(
    "websocket-errors.usable",
    "After a turn that was refused the next one is answered.",
    section="WebSocket Errors",
    demand="should",
)
async def usable(server: Server) -> None:
    async with connect(server) as socket:
        _error_of(await socket.turn(input=HELLO, max_output_tokens=1))
        await _require_usable(socket)


@rule(
    "websocket-errors.in-order",
    "An error comes in the turn of its message, between the responses to its neighbours.",
    section="WebSocket Transport",
)
async def in_order(server: Server) -> None:
    async with connect(server) as socket:
        await socket.ask(input=HELLO)
        await socket.ask(input=HELLO, max_output_tokens=1)
        await socket.ask(input=HELLO)
        refused = [(await socket.read_turn()).refusal is not None for _ in range(3)]
        require(refused == [False, True, False], "the error did not come in its turn")
