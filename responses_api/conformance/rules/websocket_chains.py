"""WebSocket: what a connection remembers, and for whom."""

from responses_api.conformance.evidence import completed, plain_response
from responses_api.conformance.memory import require_known
from responses_api.conformance.outcomes import require
from responses_api.conformance.prompts import HELLO, RECALL, tell
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, new_word
from responses_api.conformance.sockets import Turn, connect

_NOT_FOUND = "previous_response_not_found"


def _require_not_found(turn: Turn) -> None:
    require(turn.code == _NOT_FOUND, f"the error's code is {turn.code!r}, not '{_NOT_FOUND}'")


@rule("websocket-chains.continue", "A turn continues the one before it.", section="WebSocket Continuation")
async def continued(server: Server) -> None:
    word = new_word()
    async with connect(server) as socket:
        first = completed((await socket.turn(input=tell(word))).final)
        await require_known(
            server, word, (await socket.turn(input=RECALL, previous_response_id=first["id"])).final
        )


@rule(
    "websocket-chains.not-stored",
    "A response with store false is continued on its own connection, again and again.",
    section="WebSocket Continuation",
    demand="should",
)
async def not_stored(server: Server) -> None:
    word = new_word()
    async with connect(server) as socket:
        first = completed((await socket.turn(input=tell(word), store=False)).final)
        second = await socket.turn(input="Thank you.", previous_response_id=first["id"], store=False)
        third = await socket.turn(
            input=RECALL, previous_response_id=completed(second.final)["id"], store=False
        )
        await require_known(server, word, third.final)


@rule(
    "websocket-chains.elsewhere",
    "A response with store false is not continued on another connection, nor over HTTP.",
    section="WebSocket Continuation",
)
async def elsewhere(server: Server) -> None:
    async with connect(server) as socket, connect(server) as other:
        first = completed((await socket.turn(input=HELLO, store=False)).final)
        _require_not_found(await other.turn(input=HELLO, previous_response_id=first["id"], store=False))
        answer = await server.ask(input=HELLO, previous_response_id=first["id"])
        code = answer.error.get("code")
        require(code == _NOT_FOUND, f"over HTTP the error's code is {code!r}, the status {answer.status}")


@rule(
    "websocket-chains.evicted",
    "A continuation that fails takes its response out of the connection's memory.",
    section="WebSocket Continuation",
)
async def evicted(server: Server) -> None:
    async with connect(server) as socket:
        first = completed((await socket.turn(input=HELLO, store=False)).final)
        failed = await socket.turn(
            input=HELLO, previous_response_id=first["id"], store=False, max_output_tokens=1
        )
        require(failed.refusal is not None, "a turn with a wrong value is answered")
        _require_not_found(await socket.turn(input=HELLO, previous_response_id=first["id"], store=False))


@rule(
    "websocket-chains.http",
    "A stored response is continued across transports, both ways.",
    section="WebSocket Continuation",
    demand="extension",
)
async def http(server: Server) -> None:
    word = new_word()
    over_http = completed(await server.create(input=tell(word)))
    async with connect(server) as socket:
        turn = await socket.turn(input=RECALL, previous_response_id=over_http["id"])
        await require_known(server, word, turn.final)
        second = await server.create(input=RECALL, previous_response_id=completed(turn.final)["id"])
        await require_known(server, word, second)


@rule(
    "websocket-chains.foreign",
    "Another tenant's response is not continued.",
    section="WebSocket Continuation",
    demand="extension",
)
async def foreign(server: Server) -> None:
    stranger = server.other()
    theirs = completed(await plain_response(server))
    async with connect(stranger) as socket:
        _require_not_found(await socket.turn(input=HELLO, previous_response_id=theirs["id"]))
