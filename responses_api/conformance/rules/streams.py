"""What the events of a stream tell, and in which order (S2 to S9)."""

from responses_api.conformance.evidence import all_streams, call_stream, stored_response, text_stream
from responses_api.conformance.outcomes import Broken, NotShown, require, require_unbroken
from responses_api.conformance.prompts import COUNT, GOODBYE, HELLO
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server
from responses_api.conformance.stream import compare_with_get
from responses_api.protocol import event_types as t


async def _require_none(server: Server, name: str, aspect: str | None = None) -> None:
    for told in await all_streams(server):
        for violation in told.violations(name, aspect):
            server.see(told.answer)
            raise Broken(violation.message)


@rule(
    "streams.beginning",
    "A stream begins with response.created, perhaps response.queued, and response.in_progress.",
    section="Streaming",
    demand="should",
)
async def beginning(server: Server) -> None:
    await _require_none(server, "S2", "beginning")


@rule(
    "streams.numbers",
    "sequence_number counts from 0 without gaps.",
    section="Extending streaming events",
    demand="should",
)
async def numbers(server: Server) -> None:
    await _require_none(server, "S2", "numbers")


@rule(
    "streams.end", "Exactly one terminal event ends a stream, and no event follows it.", section="Streaming"
)
async def end(server: Server) -> None:
    await _require_none(server, "S3")


@rule(
    "streams.items",
    "Each item is added first and done once, and nothing is told of it afterwards.",
    section="Items are streamable",
)
async def items(server: Server) -> None:
    await _require_none(server, "S4")


@rule(
    "streams.ids",
    "Ids and indexes of items agree in all events and in the final output.",
    section="Items are streamable",
)
async def ids(server: Server) -> None:
    await _require_none(server, "S5")


@rule(
    "streams.parts",
    "Each content part is added, told by deltas and done; joined deltas are its text everywhere.",
    section="Items are streamable",
)
async def parts(server: Server) -> None:
    await _require_none(server, "S6")


@rule(
    "streams.calls",
    "The argument deltas of a call add up to its arguments; call_id and name never change.",
    section="Items are streamable",
)
async def calls(server: Server) -> None:
    told = await call_stream(server)
    require_unbroken(told.violations("S7"))


@rule(
    "streams.outcome",
    "In a completed response every item is completed; an incomplete one is the last of an incomplete response.",
    section="Items are state machines",
)
async def outcome(server: Server) -> None:
    await _require_none(server, "S8")


@rule("streams.shapes", "Every event has the fields of its schema.", section="Streaming")
async def shapes(server: Server) -> None:
    await _require_none(server, "S9")


@rule(
    "streams.deltas",
    "Text is told by deltas as the model writes it, not only at the end.",
    section="Streaming",
)
async def deltas(server: Server) -> None:
    told = await text_stream(server)
    if told.final.get("status") != "completed":
        raise NotShown(f"the answer is {told.final.get('status')}")
    require(t.OUTPUT_TEXT_DELTA in told.types, "a completed text answer has no response.output_text.delta")


@rule(
    "streams.cut-short",
    "An answer that meets max_output_tokens ends with response.incomplete, its reason, and an incomplete last item.",
    section="Items are state machines",
)
async def cut_short(server: Server) -> None:
    told = await server.stream(input=COUNT, max_output_tokens=16)
    final = told.final
    if final.get("status") in ("completed", "failed"):
        raise NotShown(f"the answer is {final['status']}")
    require(told.types[-1] == t.INCOMPLETE, f"the last event is {told.types[-1]}")
    require(bool((final.get("incomplete_details") or {}).get("reason")), "incomplete_details tells no reason")
    output = final.get("output") or []
    if output:
        require(output[-1].get("status", "incomplete") == "incomplete", "the last item is not incomplete")
    require_unbroken(told.violations("S8"))


@rule(
    "streams.cut-reason",
    "The reason for an answer that met max_output_tokens is max_output_tokens.",
    section="Items are state machines",
    demand="extension",
)
async def cut_reason(server: Server) -> None:
    response = await server.create(input=COUNT, max_output_tokens=16)
    if response.get("status") != "incomplete":
        raise NotShown(f"the answer is {response.get('status')}")
    reason = (response.get("incomplete_details") or {}).get("reason")
    require(reason == "max_output_tokens", f"the reason in incomplete_details is {reason!r}")


@rule(
    "streams.obfuscation",
    "include_obfuscation decides whether deltas are padded, and padding changes no text.",
    section="CreateResponseBody",
    demand="should",
)
async def obfuscation(server: Server) -> None:
    bare = await server.stream(input=HELLO, stream_options={"include_obfuscation": False})
    require(
        not any(event.get("obfuscation") for event in bare.events),
        "deltas are padded although include_obfuscation is false",
    )
    padded = await server.stream(input=HELLO, stream_options={"include_obfuscation": True})
    told = [event for event in padded.events if event["type"] == t.OUTPUT_TEXT_DELTA]
    if not told:
        raise NotShown("the model wrote no text")
    require(
        all(event.get("obfuscation") for event in told),
        "a delta has no obfuscation although it was asked for",
    )
    require_unbroken(padded.violations("S6"))


@rule(
    "streams.get-equal",
    "GET tells the response as its terminal event told it, field by field.",
    section="Streaming",
    demand="extension",
)
async def get_equal(server: Server) -> None:
    await stored_response(server)
    for told in await all_streams(server):
        got = (await server.get(f"/responses/{told.final.get('id')}")).json()
        require_unbroken(compare_with_get(told.final, got))


@rule(
    "streams.get-at-once",
    "GET finds the response as soon as its terminal event is there, before the stream has ended.",
    section="Streaming",
    demand="extension",
)
async def get_at_once(server: Server) -> None:
    await stored_response(server)
    statuses: list[object] = []
    mark = b'"type":"response.completed"'

    async def look(received: bytes) -> bool:
        if not statuses and mark in received.replace(b'": "', b'":"'):
            response_id = received.split(b"resp_", 1)[1].split(b'"', 1)[0].decode()
            answer = await server.get(f"/responses/resp_{response_id}")
            statuses.append(answer.json().get("status") if answer.status == 200 else answer.status)
        return True

    await server.send("POST", "/responses", server.body({"input": GOODBYE, "stream": True}), on_write=look)
    if not statuses:
        raise NotShown("the answer was not completed")
    require(statuses == ["completed"], f"GET answers {statuses[0]} after response.completed")
