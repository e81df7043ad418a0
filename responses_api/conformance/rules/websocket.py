"""WebSocket: the events of a response, turn by turn."""

from responses_api.conformance.evidence import stored_response
from responses_api.conformance.outcomes import NotApplicable, NotShown, require, require_unbroken
from responses_api.conformance.prompts import HELLO
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server
from responses_api.conformance.sockets import Turn, connect, handshake_status
from responses_api.conformance.stream import compare_with_get
from responses_api.protocol import event_types as t
from responses_api.protocol.sse import decode


async def _hello(server: Server) -> Turn:
    """A text answer over WebSocket, fetched once."""

    async def fetch(own: Server) -> Turn:
        async with connect(own) as socket:
            turn = await socket.turn(input=HELLO)
            turn.stream  # noqa: B018  (raises where the turn was refused)
            return turn

    return await server.once("websocket", fetch)


async def _require_none(server: Server, *names: str) -> None:
    violations = (await _hello(server)).stream.violations
    require_unbroken(violation for violation in violations if violation.rule in names)


@rule(
    "websocket.frames",
    "Each event is one JSON object in one text frame, and there is no [DONE].",
    section="WebSocket Transport",
)
async def frames(server: Server) -> None:
    await _require_none(server, "S1")
    async with connect(server) as socket:
        await socket.turn(input=HELLO)
        require(await socket.is_silent(), "something follows the terminal event")


@rule(
    "websocket.events",
    "The events have the order, numbers, ids and texts of a stream over HTTP.",
    section="WebSocket Transport",
)
async def events(server: Server) -> None:
    await _require_none(server, "S2", "S3", "S4", "S5", "S6", "S7", "S8")


@rule("websocket.shapes", "Every event has the fields of its schema.", section="WebSocket Transport")
async def shapes(server: Server) -> None:
    await _require_none(server, "S9")


@rule(
    "websocket.same-types",
    "The events are of the types that a stream over HTTP has.",
    section="WebSocket Transport",
)
async def same_types(server: Server) -> None:
    turn = await _hello(server)
    if turn.final.get("status") != "completed":
        raise NotShown(f"the answer is {turn.final.get('status')}")
    kinds = {event["type"] for event in turn.stream.events}
    wanted = {t.CREATED, t.OUTPUT_ITEM_ADDED, t.OUTPUT_TEXT_DELTA, t.OUTPUT_ITEM_DONE, t.COMPLETED}
    require(wanted <= kinds, f"a text answer lacks {', '.join(sorted(wanted - kinds))}")


@rule(
    "websocket.get-equal",
    "GET tells the response as its terminal event told it.",
    section="WebSocket Transport",
    demand="extension",
)
async def get_equal(server: Server) -> None:
    await stored_response(server)
    async with connect(server) as socket:
        final = (await socket.turn(input=HELLO)).final
        got = await server.get(f"/responses/{final.get('id')}")
        require(got.status == 200, f"GET answers {got.status} right after the terminal event")
    require_unbroken(compare_with_get(final, got.json()))


@rule(
    "websocket.in-order",
    "Messages sent together are answered one after the other, in their order, never mixed.",
    section="WebSocket Transport",
)
async def in_order(server: Server) -> None:
    async with connect(server) as socket:
        for number in range(3):
            await socket.ask(input=HELLO, metadata={"turn": str(number)})
        for number in range(3):
            turn = await socket.read_turn()
            ids = {
                (event.get("response") or {}).get("id") for event in turn.stream.events if "response" in event
            }
            require(len(ids) == 1, f"the events of several responses are mixed: {sorted(map(str, ids))}")
            told = (turn.final.get("metadata") or {}).get("turn")
            require(told == str(number), f"turn {number} is answered by the response to turn {told}")


@rule(
    "websocket.unauthorized",
    "A handshake without a key, or with an unknown one, is refused with 401.",
    section="HTTP Requests",
    demand="should",
)
async def unauthorized(server: Server) -> None:
    async with connect(server):
        pass
    for headers in ({}, {"Authorization": "Bearer sk-not-a-key"}):
        status = await handshake_status(server, headers)
        require(status == 401, f"the handshake is answered with {status}")


@rule(
    "websocket.http-fields",
    "stream and stream_options say nothing on a WebSocket and are ignored: clients exist that always send them.",
    section="WebSocket Transport",
    demand="extension",
)
async def http_fields(server: Server) -> None:
    async with connect(server) as socket:
        for value in (True, False):
            turn = await socket.turn(input=HELLO, stream=value)
            require(bool(turn.final), f"with stream {value} there is no response")


@rule(
    "websocket.background",
    "background is refused on a WebSocket, by its name.",
    section="WebSocket Transport",
    demand="extension",
)
async def background(server: Server) -> None:
    async with connect(server) as socket:
        turn = await socket.turn(input=HELLO, background=True)
        require(turn.refusal is not None, "background is accepted on a WebSocket")
        told = ((turn.refusal or {}).get("error") or {}).get("param")
        require(told == "background", f"the error's param is {told!r}")


@rule(
    "websocket.stream-id",
    "stream_id is refused: a connection has one response at a time.",
    section="WebSocket Transport",
    demand="extension",
)
async def stream_id(server: Server) -> None:
    async with connect(server) as socket:
        turn = await socket.turn(input=HELLO, stream_id="one")
        require(turn.refusal is not None, "stream_id is accepted")


@rule(
    "websocket.generate",
    "A message with generate false makes no output and can be continued: clients warm a connection with it.",
    section="WebSocket Continuation",
    demand="extension",
)
async def generate(server: Server) -> None:
    async with connect(server) as socket:
        turn = await socket.turn(input=HELLO, generate=False, store=False)
        final = turn.final
        require(not final.get("output"), "a message with generate false has output")
        await _require_answer(await socket.turn(input=HELLO, previous_response_id=final["id"], store=False))


@rule(
    "websocket.limit",
    "At its limit a connection gets an error websocket_connection_limit_reached and is closed.",
    section="WebSocket Reconnects",
)
async def limit(server: Server) -> None:
    seconds = server.target.websocket_limit
    if seconds is None:
        raise NotApplicable("needs --websocket-limit, the server's own limit in seconds")
    async with connect(server) as socket:
        turn = await socket.read_turn(seconds=seconds + 10)
        code = turn.code
        require(code == "websocket_connection_limit_reached", f"the error's code is {code!r}")
        require(await socket.wait_closed(5), "the connection is not closed after its limit")


async def _require_answer(turn: Turn) -> None:
    require(decode(turn.messages[-1])["type"] in t.TERMINAL_TYPES, "the continuation has no end")
    require(bool(turn.final), "the continuation has no response")
