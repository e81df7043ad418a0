"""What real clients send: accepted, whatever its exact form."""

import asyncio
import gzip
from typing import Any

import orjson

from responses_api.conformance.evidence import completed, plain_response
from responses_api.conformance.outcomes import NotShown, require
from responses_api.conformance.prompts import HELLO, message
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, answered, offered

_NULLS: dict[str, Any] = dict.fromkeys(
    (
        "previous_response_id",
        "instructions",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "max_output_tokens",
        "max_tool_calls",
        "reasoning",
        "text",
        "metadata",
        "stream_options",
        "safety_identifier",
        "prompt_cache_key",
        "top_logprobs",
    )
)


@rule("tolerance.nulls", "An explicit null is the same as a field left out.", section="CreateResponseBody")
async def nulls(server: Server) -> None:
    response = await server.create(input=HELLO, **_NULLS)
    require(
        response.get("tool_choice") == "auto",
        f"'tool_choice' was null and is {response.get('tool_choice')!r}",
    )


@rule(
    "tolerance.more-nulls",
    "Null is taken for the fields, too, that the schema lets only be left out.",
    section="CreateResponseBody",
    demand="extension",
)
async def more_nulls(server: Server) -> None:
    names = ("include", "truncation", "service_tier", "store", "stream", "background", "user")
    response = await server.create(input=HELLO, **dict.fromkeys(names))
    require(response.get("store") is True, f"'store' was null and is {response.get('store')!r}")


@rule(
    "tolerance.unknown-fields",
    "Unknown fields are ignored, at the top and in items.",
    section="Extending existing schemas",
    demand="should",
)
async def unknown_fields(server: Server) -> None:
    said = {**message(HELLO), "cache_hint": {"a": 1}}
    await server.create(
        input=[said], conversation=None, client_metadata={"a": "b"}, user="u1", conformance=True
    )


@rule(
    "tolerance.bare-message",
    "A message may leave its type out, and its content may be text.",
    section="Items are polymorphic",
    demand="should",
)
async def bare_message(server: Server) -> None:
    await server.create(input=[{"role": "user", "content": HELLO}])


@rule(
    "tolerance.roles",
    "Messages of the system and the developer are taken beside the user's.",
    section="Items",
)
async def roles(server: Server) -> None:
    said = [message("Be brief.", "system"), message("Be kind.", "developer"), message(HELLO)]
    await server.create(input=said)


@rule(
    "tolerance.replayed",
    "Items come back with the ids, states and keys that clients keep with them.",
    section="Items",
    demand="should",
)
async def replayed(server: Server) -> None:
    kept = [
        {**message("Hello."), "id": "msg_made_by_a_client", "status": "completed"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hello!", "logprobs": [], "parsed": None}],
        },
        {
            "type": "function_call",
            "id": "fc_made_by_a_client",
            "call_id": "call_1",
            "name": "get_weather",
            "arguments": "{}",
            "status": "completed",
            "parsed_arguments": {},
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "Sunny.", "status": "completed"},
    ]
    await server.create(input=[*kept, message(HELLO)], store=False)


@rule("tolerance.own-items", "The server's own output items are taken as input, unchanged.", section="Items")
async def own_items(server: Server) -> None:
    output = completed(await plain_response(server))["output"]
    without = [{key: item[key] for key in item if key not in ("id", "status")} for item in output]
    for items in (output, without):
        await server.create(input=[message(HELLO), *items, message(HELLO)], store=False)


@rule(
    "tolerance.reasoning",
    "A replayed reasoning item may have content, or null for it.",
    section="Reasoning",
    demand="should",
)
async def reasoning(server: Server) -> None:
    for content in (None, [{"type": "reasoning_text", "text": "They greet me."}]):
        item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": content}
        answer = message("Hello!", "assistant")
        await server.create(input=[message("Hello."), item, answer, message(HELLO)], store=False)


@rule(
    "tolerance.vendor-items",
    "An item with a vendor's prefix is accepted in the input.",
    section="Items are extensible",
    demand="should",
)
async def vendor_items(server: Server) -> None:
    item = {"type": "acme:note", "id": "note_1", "status": "completed", "text": "Kept."}
    await server.create(input=[message(HELLO), item], store=False)


@rule(
    "tolerance.accept",
    "Streams come whatever Accept says; nothing is answered with 406.",
    section="HTTP Responses",
    demand="should",
)
async def accept(server: Server) -> None:
    for accepted in ("application/json", "*/*", "text/event-stream", "text/html"):
        told = await server.stream(input=HELLO, headers={"Accept": accepted})
        require(bool(told.events), f"with Accept: {accepted} the stream has no events")
        answer = await server.ask(input=HELLO, headers={"Accept": accepted})
        answered(answer)


@rule("tolerance.charset", "Content-Type may have a charset.", section="HTTP Requests", demand="should")
async def charset(server: Server) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    answered(await server.ask(input=HELLO, headers=headers))


@rule(
    "tolerance.bearer", "The word Bearer is taken in any case.", section="HTTP Requests", demand="extension"
)
async def bearer(server: Server) -> None:
    value = server.authorization["Authorization"].replace("Bearer", "bearer")
    answered(await server.ask(input=HELLO, headers={"Authorization": value}))


@rule(
    "tolerance.slash",
    "A slash at the end of a path changes nothing.",
    section="HTTP Requests",
    demand="extension",
)
async def slash(server: Server) -> None:
    answered(await server.send("POST", "/responses/", server.body({"input": HELLO})))


@rule("tolerance.gzip", "A body compressed with gzip is read.", section="HTTP Requests", demand="extension")
async def gzipped(server: Server) -> None:
    body = gzip.compress(orjson.dumps(server.body({"input": HELLO})))
    answer = await server.send("POST", "/responses", body, headers={"Content-Encoding": "gzip"})
    answered(offered(answer, "compressed bodies"))


@rule("tolerance.unicode", "Text of any script comes back unharmed.", section="Content")
async def unicode(server: Server) -> None:
    text = "Grüße, Καλημέρα, 你好, 🙂, line\u2028end"
    response = await server.create(input=HELLO, metadata={"text": text}, instructions=text)
    told = ((response.get("metadata") or {}).get("text"), response.get("instructions"))
    require(told == (text, text), f"the text came back as {told}")


@rule(
    "tolerance.image",
    "An image by data URL is accepted, or refused by a 400 that names its place.",
    section="Content",
    demand="should",
)
async def image(server: Server) -> None:
    url = (
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
        "AABJRU5ErkJggg=="
    )
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": url}]
    answer = await server.ask(input=[{"role": "user", "content": parts}])
    if answer.status == 400:
        told = str(answer.error.get("param"))
        require(told.startswith("input"), f"an image is refused without its place; the param is {told!r}")
        raise NotShown("the model takes no images")
    answered(answer)


@rule(
    "tolerance.two-at-once",
    "Two requests of one key at once are both answered.",
    section="HTTP Requests",
    demand="should",
)
async def two_at_once(server: Server) -> None:
    told = await asyncio.gather(*(server.stream(input=HELLO) for _ in range(2)))
    ids = {one.final.get("id") for one in told}
    require(len(ids) == 2, "two streams at once told of one response")
