"""Errors: their statuses, their shape, their types."""

from responses_api.conformance.evidence import never_id, refusals, stored_response
from responses_api.conformance.expect import refused
from responses_api.conformance.outcomes import Broken, NotApplicable, require
from responses_api.conformance.prompts import HELLO
from responses_api.conformance.registry import Demand, rule
from responses_api.conformance.server import Server
from responses_api.conformance.shapes.resource import error_faults

_TYPES = {"server_error", "invalid_request", "not_found", "model_error", "too_many_requests"}


@rule(
    "errors.shape", "An error's body is {error: {type, message}}, the message a sentence.", section="Errors"
)
async def shape(server: Server) -> None:
    for refusal in (await refusals(server)).values():
        error = server.see(refusal.answer).error
        for name in ("type", "message"):
            told = error.get(name)
            require(isinstance(told, str) and bool(told), f"the error's {name} is {told!r}")


@rule(
    "errors.fields",
    "An error has code and param, too, as strings or null.",
    section="Errors",
    demand="should",
)
async def fields(server: Server) -> None:
    for refusal in (await refusals(server)).values():
        server.see(refusal.answer)
        for fault in error_faults(refusal.answer.json()):
            raise Broken(fault)


@rule("errors.types", "An error's type is one of the five.", section="Error Types")
async def types(server: Server) -> None:
    for refusal in (await refusals(server)).values():
        server.see(refusal.answer)
        told = refusal.answer.error.get("type")
        require(told in _TYPES, f"the error's type is {told!r}")


@rule("errors.kinds", "A request that is at fault has the type invalid_request.", section="Error Types")
async def kinds(server: Server) -> None:
    for name, refusal in (await refusals(server)).items():
        told = server.see(refusal.answer).error.get("type")
        # A model or a response that is named in the request may be not_found; of keys the specification says nothing.
        wanted = {"invalid_request", "not_found"} if name.startswith("unknown") else {"invalid_request"}
        is_about_keys = name in ("no-key", "wrong-key")
        require(
            told not in _TYPES or told in wanted or is_about_keys,
            f"the type is {told!r}, not invalid_request",
        )


@rule("errors.content-type", "An error is application/json.", section="HTTP Responses")
async def content_type(server: Server) -> None:
    for refusal in (await refusals(server)).values():
        server.see(refusal.answer)
        kind = refusal.answer.media_type
        require(kind == "application/json", f"the Content-Type of an error is '{kind}'")


_STATUSES: list[tuple[str, str, str, Demand]] = [
    ("malformed", "A body that is no JSON is refused with 400.", "HTTP Requests", "must"),
    ("no-object", "A body that is no object is refused with 400.", "Error Types", "must"),
    ("no-key", "A call without a key is refused with 401.", "HTTP Requests", "should"),
    ("wrong-key", "A call with an unknown key is refused with 401.", "HTTP Requests", "should"),
    ("unknown-model", "A model that is not served is refused with 400 or 404.", "Errors", "must"),
]


def _register(name: str, sentence: str, section: str, demand: Demand) -> None:
    @rule(f"errors.{name}", sentence, section=section, demand=demand)
    async def check(server: Server) -> None:
        refusal = (await refusals(server))[name]
        refused(server.see(refusal.answer), *refusal.statuses)


for _entry in _STATUSES:
    _register(*_entry)


@rule(
    "errors.model-not-found",
    "The error for an unknown model names model.",
    section="Errors",
    demand="should",
)
async def model_not_found(server: Server) -> None:
    refusal = (await refusals(server))["unknown-model"]
    error = server.see(refusal.answer).error
    require(
        (error.get("code"), error.get("param")) == ("model_not_found", "model"),
        f"code and param are {error.get('code')!r} and {error.get('param')!r}, not 'model_not_found' and 'model'",
    )


@rule("errors.param", "The param of a wrong value is the field's name.", section="Errors")
async def param(server: Server) -> None:
    error = server.see((await refusals(server))["wrong-value"].answer).error
    require(
        error.get("param") == "max_output_tokens",
        f"the error's param is {error.get('param')!r}, not 'max_output_tokens'",
    )


@rule(
    "errors.param-path",
    "The param of a value deep in the input is its path, as input[1].content[0].image_url.",
    section="Errors",
    demand="extension",
)
async def param_path(server: Server) -> None:
    image = {"type": "input_image", "image_url": 7}
    said = [{"role": "user", "content": HELLO}, {"role": "user", "content": [image]}]
    error = refused(await server.ask(input=said))
    wanted = "input[1].content[0].image_url"
    require(error.get("param") == wanted, f"the error's param is {error.get('param')!r}, not '{wanted}'")


@rule(
    "errors.media-type",
    "A body that is not application/json is refused with 415, or 400.",
    section="HTTP Requests",
    demand="should",
)
async def media_type(server: Server) -> None:
    body = b"model=x&input=hello"
    headers = {"Content-Type": "text/plain"}
    refused(await server.send("POST", "/responses", body, headers=headers), 415, 400)


@rule(
    "errors.unknown-response",
    "GET of an id that never was is 404 not_found.",
    section="Error Types",
    demand="extension",
)
async def unknown_response(server: Server) -> None:
    await stored_response(server)
    for path in (await never_id(server), "not-even-an-id"):
        error = refused(await server.get(f"/responses/{path}"), 404)
        require(
            error.get("type") == "not_found", f"the error's type is {error.get('type')!r}, not 'not_found'"
        )


@rule(
    "errors.unknown-path",
    "A path that is not served is 404 in the shape of errors.",
    section="Error Types",
    demand="should",
)
async def unknown_path(server: Server) -> None:
    answer = await server.get("/conformance-no-such-path")
    refused(answer, 404)
    for fault in error_faults(answer.json()):
        raise Broken(fault)


@rule(
    "errors.wrong-method",
    "A method that a path does not have is 405 in the shape of errors.",
    section="Errors",
    demand="extension",
)
async def wrong_method(server: Server) -> None:
    answer = await server.send("PUT", "/responses", {"model": server.target.model})
    refused(answer, 405, 404)
    for fault in error_faults(answer.json()):
        raise Broken(fault)


@rule(
    "errors.stream-refused",
    "A streaming request that is refused before it begins gets a status and a JSON error, no stream.",
    section="Errors",
    demand="should",
)
async def stream_refused(server: Server) -> None:
    answer = await server.ask(input=HELLO, max_output_tokens=1, stream=True)
    refused(answer)
    require(
        answer.media_type == "application/json", f"the Content-Type of the error is '{answer.media_type}'"
    )


@rule(
    "run.retry-after",
    "Every 429 of the run has Retry-After.",
    section="Error Types",
    demand="should",
)
async def retry_after(server: Server) -> None:
    if not server.limited:
        raise NotApplicable("the run met no limit")
    for answer in server.limited:
        server.answers.append(answer)
        told = answer.headers.get("retry-after", "")
        require(told.strip().isdigit(), f"a 429 has the Retry-After {told!r}")
