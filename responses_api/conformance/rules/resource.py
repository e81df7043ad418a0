"""The response resource as JSON."""

from responses_api.conformance.evidence import (
    SETTINGS,
    completed,
    json_answer,
    plain_response,
    set_response,
    stored_response,
    text_of,
)
from responses_api.conformance.outcomes import Broken, NotShown, require, require_unbroken
from responses_api.conformance.prompts import GOODBYE, HELLO
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server
from responses_api.conformance.shapes.resource import response_faults
from responses_api.conformance.stream import compare_with_get
from responses_api.protocol.plain import Json

_DEFAULTS: Json = {
    "previous_response_id": None,
    "instructions": None,
    "tools": [],
    "tool_choice": "auto",
    "truncation": "disabled",
    "parallel_tool_calls": True,
    "text": {"format": {"type": "text"}},
    "max_output_tokens": None,
    "max_tool_calls": None,
    "store": True,
    "background": False,
    "metadata": {},
    "safety_identifier": None,
    "prompt_cache_key": None,
    "error": None,
}


@rule("resource.content-type", "An answer that is no stream is application/json.", section="HTTP Responses")
async def content_type(server: Server) -> None:
    kind = (await json_answer(server)).media_type
    require(kind == "application/json", f"the Content-Type is '{kind}'")


@rule(
    "resource.shape",
    "The response has every field of its schema; optional fields that are not nullable are absent, never null.",
    section="ResponseResource",
)
async def shape(server: Server) -> None:
    for response in (await set_response(server), await plain_response(server)):
        for fault in response_faults(response):
            raise Broken(fault)


@rule(
    "resource.defaults",
    "Settings that were not given have their defaults.",
    section="ResponseResource",
    demand="should",
)
async def defaults(server: Server) -> None:
    response = await plain_response(server)
    for name, value in _DEFAULTS.items():
        found = response.get(name, "nothing")
        is_same = found == value or (name == "metadata" and not found)
        require(is_same, f"'{name}' was not given and is {found!r}, not {value!r}")


@rule("resource.echo", "Settings that were given are echoed.", section="ResponseResource")
async def echo(server: Server) -> None:
    response = await set_response(server)
    for name, value in SETTINGS.items():
        found = response.get(name)
        if name == "tools":
            found = [{key: tool.get(key) for key in value[0]} for tool in found or ()]
        require(found == value, f"'{name}' was given as {value!r} and is echoed as {found!r}")


@rule("resource.model", "The response names a model.", section="ResponseResource")
async def model(server: Server) -> None:
    require(bool((await plain_response(server)).get("model")), "'model' is empty")


@rule(
    "resource.format-schema",
    "A JSON Schema format is echoed with its name, and with schema null.",
    section="ResponseResource",
)
async def format_schema(server: Server) -> None:
    schema = {
        "type": "object",
        "properties": {"greeting": {"type": "string"}},
        "required": ["greeting"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "name": "greeting", "schema": schema, "strict": True}
    answer = await server.ask(input="Greet the reader. Answer in JSON.", text={"format": form})
    if answer.status == 400 and str(answer.error.get("param", "")).startswith("text"):
        raise NotShown("the model has no JSON Schema output")
    response = answer.json()
    told = (response.get("text") or {}).get("format") or {}
    require(
        told.get("name") == "greeting" and told.get("type") == "json_schema",
        f"the format is echoed as {told}",
    )
    require(
        told.get("schema", "absent") is None,
        f"'text.format.schema' is {told.get('schema', 'absent')!r}, not null",
    )


@rule("resource.usage", "usage counts add up, and their details are there.", section="ResponseResource")
async def usage(server: Server) -> None:
    told = (await plain_response(server)).get("usage")
    if not isinstance(told, dict):
        raise NotShown("the response tells no usage")
    total, taken, made = (told[name] for name in ("total_tokens", "input_tokens", "output_tokens"))
    require(
        min(total, taken, made) >= 0 and total >= taken + made,
        f"total_tokens is {total}, input_tokens {taken}, output_tokens {made}",
    )


@rule("resource.text", "A completed text answer holds text in a message of the assistant.", section="Items")
async def text(server: Server) -> None:
    response = completed(await plain_response(server))
    messages = [item for item in response["output"] if item.get("type") == "message"]
    require(bool(messages) and bool(text_of(response)), "a completed answer has no text")
    require(
        all(item.get("role") == "assistant" for item in messages), "an output message is not the assistant's"
    )


@rule(
    "resource.service-tier",
    "A service_tier is accepted, and the response tells a tier.",
    section="service_tier",
)
async def service_tier(server: Server) -> None:
    for tier in ("auto", "default"):
        told = (await server.create(input=HELLO, service_tier=tier)).get("service_tier")
        require(isinstance(told, str) and bool(told), f"the service_tier is told as {told!r}")


@rule(
    "resource.times",
    "created_at and completed_at are times in seconds, in their order.",
    section="ResponseResource",
)
async def times(server: Server) -> None:
    response = completed(await plain_response(server))
    begun, ended = response["created_at"], response["completed_at"]
    require(isinstance(begun, int) and 1_600_000_000 < begun < 10_000_000_000, f"'created_at' is {begun!r}")
    require(isinstance(ended, int) and ended >= begun, f"'completed_at' is {ended!r}, 'created_at' {begun!r}")


@rule(
    "resource.ids",
    "No two responses and no two items share an id.",
    section="Extending Items",
)
async def ids(server: Server) -> None:
    found = [await set_response(server), await plain_response(server)]
    told = [str(response.get("id")) for response in found]
    told += [str(item.get("id")) for response in found for item in response.get("output") or ()]
    require(len(set(told)) == len(told) and all(told), f"ids are not unique: {told}")


@rule(
    "resource.unguessable",
    "An id has at least 128 bits that nobody can guess: ids a moment apart share no more than a beginning.",
    section="Extending Items",
    demand="extension",
)
async def unguessable(server: Server) -> None:
    found = [await server.create(input=GOODBYE), await server.create(input=GOODBYE)]
    first, second = (str(response.get("id")).rpartition("_")[2] for response in found)
    differing = sum(one != other for one, other in zip(first, second, strict=False))
    require(
        min(len(first), len(second)) >= 22 and differing >= 16,
        f"the ids …{first} and …{second} differ in {differing} characters only",
    )


@rule(
    "resource.same-as-get",
    "GET tells the response as POST answered it, field by field.",
    section="ResponseResource",
    demand="extension",
)
async def same_as_get(server: Server) -> None:
    await stored_response(server)
    for response in (await set_response(server), await plain_response(server)):
        got = (await server.get(f"/responses/{response['id']}")).json()
        require_unbroken(compare_with_get(response, got))
