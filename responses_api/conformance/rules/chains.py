"""`previous_response_id`: what a continuation is asked on top of."""

from responses_api.conformance.evidence import (
    call_response,
    calls_of,
    completed,
    never_id,
    plain_response,
    stored_response,
    text_of,
)
from responses_api.conformance.expect import refused
from responses_api.conformance.memory import require_known
from responses_api.conformance.outcomes import Broken, NotApplicable, NotShown, require
from responses_api.conformance.prompts import HELLO, RECALL, WEATHER, WEATHER_QUESTION, message, tell
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, new_word, offered

_NOT_FOUND = "previous_response_not_found"


@rule(
    "chains.continue",
    "A continuation knows what was said in all responses before it.",
    section="previous_response_id",
)
async def continued(server: Server) -> None:
    word = new_word()
    first = completed(await server.create(input=tell(word)))
    second = completed(await server.create(input="Thank you.", previous_response_id=first["id"]))
    third = completed(await server.create(input=RECALL, previous_response_id=second["id"]))
    await require_known(server, word, third)


@rule(
    "chains.continue-stream",
    "A stream continues a response that was streamed.",
    section="previous_response_id",
)
async def continued_stream(server: Server) -> None:
    word = new_word()
    first = await server.stream(input=tell(word))
    second = await server.stream(input=RECALL, previous_response_id=completed(first.final)["id"])
    await require_known(server, word, completed(second.final))


@rule("chains.echo", "A continuation names what it continues.", section="previous_response_id")
async def echo(server: Server) -> None:
    first = completed(await plain_response(server))
    second = await server.create(input=HELLO, previous_response_id=first["id"])
    told = second.get("previous_response_id")
    require(told == first["id"], f"'previous_response_id' is {told!r}, not {first['id']!r}")


@rule(
    "chains.fork",
    "One response is continued twice, and neither continuation knows of the other.",
    section="previous_response_id",
)
async def fork(server: Server) -> None:
    root = completed(await server.create(input="Hello. Reply with OK and nothing else."))
    word = new_word()
    await server.create(input=tell(word), previous_response_id=root["id"])
    other = completed(await server.create(input=RECALL, previous_response_id=root["id"]))
    require(word not in text_of(other), "a continuation knows what was said only in another one")


@rule(
    "chains.empty-input",
    "A continuation may leave its input out.",
    section="CreateResponseBody",
    demand="should",
)
async def empty_input(server: Server) -> None:
    first = completed(await plain_response(server))
    await server.create(previous_response_id=first["id"])


@rule(
    "chains.instructions",
    "Instructions hold for their own response and are not carried over.",
    section="CompactResource",
    demand="should",
)
async def instructions(server: Server) -> None:
    word = new_word()
    first = completed(await server.create(input=RECALL, instructions=f"The code word is {word}."))
    if word not in text_of(first):
        raise NotShown("the model does not say what its instructions tell it")
    silent = completed(
        await server.create(input="Say hello.", instructions=f"The code word is {word}. Do not say it yet.")
    )
    if word in text_of(silent):
        raise NotShown("the model says what its instructions forbid")
    second = completed(await server.create(input=RECALL, previous_response_id=silent["id"]))
    require(second.get("instructions") is None, "the instructions of the previous response are echoed")
    require(word not in text_of(second), "the instructions of the previous response still hold")


@rule("chains.tools", "Tools are not carried over.", section="previous_response_id", demand="extension")
async def tools(server: Server) -> None:
    first = completed(await server.create(input=HELLO, tools=[WEATHER], tool_choice="none"))
    second = await server.create(input=WEATHER_QUESTION, previous_response_id=first["id"])
    require(not second.get("tools"), "the tools of the previous response are echoed")
    require(not calls_of(second), "a tool of the previous response is called")


@rule(
    "chains.unknown",
    "A previous response that never was is refused with previous_response_not_found.",
    section="WebSocket Continuation",
    demand="should",
)
async def unknown(server: Server) -> None:
    answer = await server.ask(input=HELLO, previous_response_id=await never_id(server))
    error = refused(answer, 400, 404)
    require(error.get("code") == _NOT_FOUND, f"the error's code is {error.get('code')!r}")


@rule(
    "chains.unknown-param",
    "The error of an unknown previous response names the field.",
    section="WebSocket Errors",
    demand="should",
)
async def unknown_param(server: Server) -> None:
    answer = await server.ask(input=HELLO, previous_response_id="not-even-an-id")
    refused(answer, 400, 404, param="previous_response_id")


@rule(
    "chains.not-stored",
    "A response with store false is not continued over HTTP.",
    section="WebSocket Continuation",
    demand="should",
)
async def not_stored(server: Server) -> None:
    first = await server.create(input=HELLO, store=False)
    refused(await server.ask(input=HELLO, previous_response_id=first["id"]), 400, 404, code=_NOT_FOUND)


@rule(
    "chains.deleted",
    "A deleted response is not continued.",
    section="previous_response_id",
    demand="extension",
)
async def deleted(server: Server) -> None:
    await stored_response(server)
    first = completed(await server.create(input=HELLO))
    offered(await server.send("DELETE", f"/responses/{first['id']}"), "deletion")
    refused(await server.ask(input=HELLO, previous_response_id=first["id"]), 400, 404, code=_NOT_FOUND)


@rule(
    "chains.deleted-in-the-middle",
    "A chain of which a part was deleted is not continued: its context would have a hole.",
    section="previous_response_id",
    demand="extension",
)
async def deleted_in_the_middle(server: Server) -> None:
    await stored_response(server)
    first = completed(await server.create(input=HELLO))
    second = completed(await server.create(input=HELLO, previous_response_id=first["id"]))
    offered(await server.send("DELETE", f"/responses/{first['id']}"), "deletion")
    refused(await server.ask(input=HELLO, previous_response_id=second["id"]), 400, 404, code=_NOT_FOUND)


@rule(
    "chains.foreign",
    "Another tenant's response is not continued.",
    section="previous_response_id",
    demand="extension",
)
async def foreign(server: Server) -> None:
    stranger = server.other()
    theirs = completed(await plain_response(server))
    answer = await stranger.ask(input=HELLO, previous_response_id=theirs["id"])
    refused(answer, 400, 404, code=_NOT_FOUND)


@rule(
    "chains.answer",
    "The output of a call continues the response that made it.",
    section="Externally-hosted tools",
)
async def answer(server: Server) -> None:
    first = await call_response(server)
    word = new_word()
    outputs = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": f"It is {word} there."}
        for call in calls_of(first)
    ]
    second = await server.create(input=outputs, previous_response_id=first["id"], tools=[WEATHER])
    if not text_of(completed(second)):
        raise NotShown("the model did not answer in words")


@rule(
    "chains.unanswered-call",
    "A context with a call that nothing answers is refused with 400 that names the call_id.",
    section="Externally-hosted tools",
    demand="extension",
)
async def unanswered_call(server: Server) -> None:
    first = await call_response(server)
    open_call = calls_of(first)[0]["call_id"]
    error = refused(await server.ask(input=HELLO, previous_response_id=first["id"], tools=[WEATHER]))
    require(open_call in str(error.get("message")), f"the message does not name the call '{open_call}'")
    said = [message(HELLO), {"type": "function_call", "call_id": "call_open", "name": "f", "arguments": "{}"}]
    error = refused(await server.ask(input=said), param="input")
    require("call_open" in str(error.get("message")), "the message does not name the call 'call_open'")


@rule(
    "chains.orphan-output",
    "An output that answers no call is refused with 400 that names the call_id.",
    section="Externally-hosted tools",
    demand="extension",
)
async def orphan_output(server: Server) -> None:
    orphan = {"type": "function_call_output", "call_id": "call_nowhere", "output": "x"}
    error = refused(await server.ask(input=[message(HELLO), orphan]), param="input")
    require("call_nowhere" in str(error.get("message")), "the message does not name the call 'call_nowhere'")


@rule(
    "chains.replay",
    "A chain that the client sends whole, its own items and the server's as they came, is taken like a stored one.",
    section="Items",
)
async def replay(server: Server) -> None:
    word = new_word()
    said = [message(tell(word))]
    first = completed(await server.create(input=said, store=False))
    second = await server.create(input=[*said, *first["output"], message(RECALL)], store=False)
    await require_known(server, word, completed(second))


@rule(
    "chains.replay-call",
    "A call and its output are sent back as they came, and the turn goes on.",
    section="Items",
)
async def replay_call(server: Server) -> None:
    first = await call_response(server)
    outputs = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": "Sunny."}
        for call in calls_of(first)
    ]
    said = [message(WEATHER_QUESTION), *first["output"], *outputs]
    answer = await server.ask(input=said, tools=[WEATHER], store=False)
    if answer.status == 400:
        raise Broken(f"items that the server sent are refused: {answer.error.get('message')}")
    if answer.status != 200:
        raise NotShown(f"the answer is {answer.status}")


@rule(
    "chains.cut-short",
    "An incomplete response is continued.",
    section="previous_response_id",
    demand="extension",
)
async def cut_short(server: Server) -> None:
    first = await server.create(input="Count from 1 to 200, separated by spaces.", max_output_tokens=16)
    if first.get("status") != "incomplete":
        raise NotApplicable("the model's answer was not cut short")
    await server.create(input=HELLO, previous_response_id=first["id"])
