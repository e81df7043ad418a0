"""`/responses/compact` and what is sealed: opaque to clients, and only of use to those it was made for."""

from responses_api.conformance.evidence import completed
from responses_api.conformance.expect import refused
from responses_api.conformance.memory import require_known
from responses_api.conformance.outcomes import Broken, NotApplicable, require
from responses_api.conformance.prompts import HELLO, RECALL, message, tell
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, answered, new_word, offered
from responses_api.conformance.shapes.resource import compaction_faults
from responses_api.protocol.plain import Json

_SAID = [
    message("Hello, I am Ada."),
    message("Hello Ada!", "assistant"),
    message("I like trains."),
    message("So do I.", "assistant"),
]


async def _compact(server: Server, **fields: object) -> Json:
    answer = await server.send("POST", "/responses/compact", server.body(dict(fields)))
    return answered(offered(answer, "compaction"))


async def _window(server: Server) -> Json:
    return await server.once("compacted window", lambda own: _compact(own, input=_SAID))


def _sealed(window: Json) -> tuple[int, Json]:
    """The place of the compaction item in a window, and the item. Raises `Broken` where there is none."""
    for index, item in enumerate(window["output"]):
        if item.get("type") == "compaction":
            return index, item
    raise Broken("the window has no compaction item")


def tampered(sealed: str) -> str:
    """Sealed text with one character changed, in its middle."""
    middle = len(sealed) // 2
    return sealed[:middle] + ("A" if sealed[middle] != "A" else "B") + sealed[middle + 1 :]


@rule("compaction.shape", "A compacted window has every field of its schema.", section="CompactResource")
async def shape(server: Server) -> None:
    for fault in compaction_faults(await _window(server)):
        raise Broken(fault)


@rule(
    "compaction.one-item",
    "The window keeps the user's messages, and the rest is in one compaction item.",
    section="CompactResource",
    demand="extension",
)
async def one_item(server: Server) -> None:
    window = await _window(server)
    kinds = [item.get("type") for item in window["output"]]
    require(kinds.count("compaction") == 1, f"the window has the items {kinds}")
    told = str(window["output"])
    require("I am Ada" in told and "I like trains" in told, "a message of the user is not in the window")


@rule(
    "compaction.base",
    "The window is the base of a new response, which knows what was compacted.",
    section="WebSocket Compaction",
)
async def base(server: Server) -> None:
    word = new_word()
    said = [
        message(tell(word)),
        message("OK", "assistant"),
        message("Thank you."),
        message("Welcome.", "assistant"),
    ]
    window = await _compact(server, input=said)
    await require_known(
        server, word, await server.create(input=[*window["output"], message(RECALL)], store=False)
    )


@rule(
    "compaction.chain",
    "A window may be made of a stored chain, by previous_response_id.",
    section="CompactResource",
)
async def chain(server: Server) -> None:
    word = new_word()
    first = completed(await server.create(input=tell(word)))
    window = await _compact(server, previous_response_id=first["id"])
    for fault in compaction_faults(window):
        raise Broken(fault)
    await require_known(server, word, await server.create(input=[*window["output"], message(RECALL)]))


@rule(
    "compaction.unknown-previous",
    "A window of a response that never was is refused with previous_response_not_found.",
    section="CompactResource",
    demand="should",
)
async def unknown_previous(server: Server) -> None:
    await _window(server)
    body = server.body({"previous_response_id": "resp_" + "0" * 44})
    refused(
        await server.send("POST", "/responses/compact", body), 400, 404, code="previous_response_not_found"
    )


@rule(
    "compaction.tampered",
    "A compaction item that was changed is refused with 400 that names it.",
    section="CompactResource",
    demand="extension",
)
async def tampered_with(server: Server) -> None:
    index, item = _sealed(await _window(server))
    output = list((await _window(server))["output"])
    output[index] = {**item, "encrypted_content": tampered(item["encrypted_content"])}
    refused(await server.ask(input=[*output, message(HELLO)]), param=f"input[{index}]")


@rule(
    "compaction.foreign",
    "A compaction item of another tenant is refused with 400 that names it.",
    section="CompactResource",
    demand="extension",
)
async def foreign(server: Server) -> None:
    stranger = server.other()
    window = await _window(server)
    index, _ = _sealed(window)
    refused(await stranger.ask(input=[*window["output"], message(HELLO)]), param=f"input[{index}]")


@rule(
    "compaction.trigger",
    "An input that ends with a compaction_trigger is answered with exactly one compaction item.",
    section="CompactResource",
    demand="extension",
)
async def trigger(server: Server) -> None:
    answer = await server.ask(input=[*_SAID, {"type": "compaction_trigger"}], store=False)
    if answer.status == 400 and answer.error.get("param") == f"input[{len(_SAID)}].type":
        raise NotApplicable("the server does not know compaction_trigger")
    kinds = [item.get("type") for item in completed(answered(answer))["output"]]
    require(kinds == ["compaction"], f"the output has the items {kinds}")
