"""How a stream is framed on HTTP (S1)."""

from responses_api.conformance.evidence import all_streams, text_stream
from responses_api.conformance.outcomes import NotApplicable, require, require_unbroken
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server


async def _require_none(server: Server, aspect: str) -> None:
    for told in await all_streams(server):
        require_unbroken(told.violations("S1", aspect))


@rule("framing.content-type", "A stream has Content-Type text/event-stream.", section="HTTP Responses")
async def content_type(server: Server) -> None:
    told = await text_stream(server)
    kind = told.answer.media_type
    require(kind == "text/event-stream", f"the Content-Type of a stream is '{kind}'")


@rule("framing.done", "A stream ends with data: [DONE], once.", section="HTTP Responses")
async def done(server: Server) -> None:
    await _require_none(server, "done")


@rule("framing.event-name", "The event field equals the type in the data.", section="HTTP Responses")
async def event_name(server: Server) -> None:
    await _require_none(server, "name")


@rule("framing.no-id", "There are no id fields.", section="HTTP Responses", demand="should")
async def no_id(server: Server) -> None:
    await _require_none(server, "id")


@rule("framing.json", "Each event's data is one JSON object with a type.", section="HTTP Responses")
async def json(server: Server) -> None:
    await _require_none(server, "json")


@rule(
    "framing.whole-writes",
    "Each write of the server holds whole events: clients exist that lose those that arrive in pieces.",
    section="Streaming",
    demand="extension",
)
async def whole_writes(server: Server) -> None:
    for told in await all_streams(server):
        if told.answer.writes is None:
            raise NotApplicable("the answer has no HTTP chunks that would show the writes")
        for write in told.answer.writes:
            require(write.endswith((b"\n\n", b"\r\n\r\n")), f"a write ends within an event: …{write[-60:]!r}")
