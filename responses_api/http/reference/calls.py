"""The registry of the calls. A URL that has no entry here fails a test, and so does an entry without a URL."""

from typing import Final, get_args

from responses_api.http.reference import files, usage, websocket
from responses_api.http.reference import refusals as r
from responses_api.http.reference.call import JSON, SSE, Answer, Call, Parameter
from responses_api.http.reference.examples import ASKED, MODEL, RESPONSE_ID
from responses_api.http.reference.schemas import COMPACT_BODY, COUNT_BODY
from responses_api.protocol.published import answers
from responses_api.protocol.published.events import EventStream
from responses_api.protocol.published.response import Response
from responses_api.protocol.request_body import CreateResponseBody, Include

_RESPONSE_ID: Final = Parameter(
    name="response_id",
    place="path",
    description="The response's id.",
    schema={"type": "string", "minLength": 1},
    example=RESPONSE_ID,
)
_INCLUDE: Final = Parameter(
    name="include[]",
    place="query",
    description="What to tell besides: the sealed state of reasoning. What the request asked for is always told.",
    schema={"type": "array", "items": {"type": "string", "enum": list(get_args(Include))}},
)

_ONCE: Final = Parameter(
    name="Idempotency-Key",
    place="header",
    description=(
        "A name for this one request, good for a day unless the server was told otherwise. Sent again with the same "
        "key and body, from anywhere, it is given the same response, running or ended, and nothing is generated twice. "
        "A request with a key goes on when its client leaves."
    ),
    schema={"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    example="8e2c1a5e-order-1234",
)
_BACKEND: Final = Parameter(
    name="Antiphon-Backend",
    place="header",
    description=(
        "The name of the one backend of the model that is to be asked, whatever the route's order: for the operator's "
        "own checks. The key needs the scope `backends:choose`, which no key has by default. A WebSocket has it in its "
        "handshake, for all of its turns."
    ),
    schema={"type": "string", "minLength": 1, "maxLength": 64},
)
_STREAM: Final = (
    Parameter(
        name="stream",
        place="query",
        description="Whether to tell the events instead of the response.",
        schema={"type": "boolean", "default": False},
    ),
    Parameter(
        name="starting_after",
        place="query",
        description="With `stream=true`: the `sequence_number` of the last event that is known already.",
        schema={"type": "integer", "minimum": 0, "maximum": 999_999_999},
    ),
    Parameter(
        name="include_obfuscation",
        place="query",
        description="With `stream=true`: whether deltas are padded; left out, they are as they were sent first.",
        schema={"type": "boolean"},
    ),
)


def _page(of: str, after: str) -> tuple[Parameter, ...]:
    return (
        Parameter(
            name="limit",
            place="query",
            description=f"How many {of} at most.",
            schema={"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
        ),
        Parameter(
            name="order",
            place="query",
            description="`desc`: the newest first.",
            schema={"type": "string", "enum": ["asc", "desc"], "default": "desc"},
        ),
        Parameter(
            name="after",
            place="query",
            description="The `last_id` of the page before.",
            schema={"type": "string", "pattern": after},
        ),
    )


_GENERATED: Final = (
    *r.ANY_BODY,
    r.NO_PREVIOUS,
    r.NO_ITEM,
    r.BAD_SEAL,
    r.OLD_SEAL,
    r.UNPAIRED,
    r.NO_APPROVAL_REQUEST,
    r.APPROVAL_USED,
    r.TOO_LONG,
    r.NOT_FETCHED,
    r.NOT_USABLE,
    r.REJECTED,
    r.NO_MODEL,
    r.NO_BACKEND,
    r.RUNNING,
    r.LIMITED,
    r.QUOTA,
    r.CONCURRENCY,
    r.UPSTREAM,
    r.UPSTREAM_SLOW,
    *r.ANY_CALL,
)
"""What may become of a call that a worker answers."""

CREATE: Final = Call(
    method="post",
    path="/v1/responses",
    name="createResponse",
    scope="responses:write",
    tag="Responses",
    summary="Create a response",
    description=(
        "Asks a model. Without `stream` the answer is the response when it has ended. With `stream: true` it is a "
        "stream of server-sent events: each has an `event` line that repeats the `type` of its `data`, and "
        "`data: [DONE]` ends the stream. With `background: true` it is answered at once, queued, to be retrieved by "
        "its id: it goes on whoever leaves. What can be refused before the model has begun is refused with an error "
        "status; what happens afterwards is told in the stream, as `error` and `response.failed`. With "
        "`truncation: auto` the oldest turns are dropped where the input is too long for the model; the field "
        "`antiphon:truncation` of the response, and an event of that name, then say how many. Where a tool policy of "
        "the tenant or the key leaves out calls that it does not allow, the field `antiphon:policy` of the response "
        "says which, and by which rule. Tools of MCP servers (`mcp`) and hosted ones (`antiphon:file_search`) the "
        "service runs by itself, within the response; what they did comes back as items, which may be sent again as "
        "input, under their own names or under OpenAI's. A call that needs approval ends the response with an "
        "`antiphon:mcp_approval_request`; the next request answers it, with the same tools. Headers, `authorization` "
        "and the query of `server_url` are repeated nowhere and stored nowhere. "
        "`antiphon:backend_options` sets fields of the model's own backend, as far as "
        "its operator and the tool policies allow it; the response repeats it. It is not portable: another model may "
        "refuse the same. Where the tenant or the key has limits, what the request may use is reserved "
        "before it begins, by its input and `max_output_tokens`, and settled by what it used; without "
        "`max_output_tokens` a hard limit of tokens or money ends an answer early, as `incomplete`."
    ),
    body=CreateResponseBody,
    body_examples={
        "text": ASKED,
        "stream": {"model": MODEL, "input": "Count to five.", "stream": True},
        "function": {
            "model": MODEL,
            "input": [{"role": "user", "content": "What is the weather in Paris?"}],
            "tools": [
                {
                    "type": "function",
                    "name": "get_weather",
                    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                }
            ],
        },
    },
    answers=(
        Answer(
            description="The response; with `stream: true` its events.",
            content={JSON: Response, SSE: EventStream},
            headers=r.RATE_HEADERS,
        ),
    ),
    parameters=(_ONCE, _BACKEND),
    refusals=(*_GENERATED, r.FORBIDDEN, r.BAD_KEY, r.KEY_REUSED, r.ANSWER_GONE),
)

CALLS: Final[tuple[Call, ...]] = (
    CREATE,
    Call(
        method="get",
        path="/v1/responses",
        name="listResponses",
        scope="responses:read",
        tag="Responses",
        summary="List responses, or open a WebSocket",
        description=f"The stored responses of the key's tenant, newest first.\n\n{websocket.DESCRIPTION}",
        parameters=_page("responses", r"^(resp_[0-9a-f]{44})?$"),
        answers=(
            Answer(description="A page of responses.", content={JSON: answers.ResponseList}),
            websocket.SWITCHED,
        ),
        refusals=(r.BAD_PARAMETER, r.NO_WEBSOCKET, *r.ANY_CALL),
        extra=websocket.EXTENSION,
    ),
    Call(
        method="get",
        path="/v1/responses/{response_id}",
        name="retrieveResponse",
        scope="responses:read",
        tag="Responses",
        summary="Retrieve a response",
        description=(
            "The response as it is now, while it runs and afterwards, if it is stored. With `stream=true` every event "
            "of its stream, as it was sent: what was told already at once, what follows when it comes, from any web "
            "process. A stream that was cut is taken up by `starting_after`. Leaving cancels nothing."
        ),
        parameters=(_RESPONSE_ID, _INCLUDE, *_STREAM),
        answers=(
            Answer(
                description="The response; with `stream=true` its events.",
                content={JSON: Response, SSE: EventStream},
            ),
        ),
        refusals=(r.BAD_PARAMETER, r.NO_RESPONSE, *r.ANY_CALL),
    ),
    Call(
        method="delete",
        path="/v1/responses/{response_id}",
        name="deleteResponse",
        scope="responses:write",
        tag="Responses",
        summary="Delete a response",
        description="Deletes the response and its items for good. What continues it can no longer be continued.",
        parameters=(_RESPONSE_ID,),
        answers=(Answer(description="It is gone.", content={JSON: answers.DeletedResponse}),),
        refusals=(r.BAD_PARAMETER, r.NO_RESPONSE, r.RUNNING, *r.ANY_CALL),
    ),
    Call(
        method="post",
        path="/v1/responses/{response_id}/cancel",
        name="cancelResponse",
        scope="responses:write",
        tag="Responses",
        summary="Cancel a background response",
        description=(
            "Ends a response that was created with `background: true`, wherever it is, and returns it as it ended. "
            "One that has ended stays as it is. (A response that a client waits for is cancelled by leaving.)"
        ),
        parameters=(_RESPONSE_ID,),
        answers=(Answer(description="The response as it ended.", content={JSON: Response}),),
        refusals=(r.NOT_BACKGROUND, r.NO_RESPONSE, *r.ANY_CALL),
    ),
    Call(
        method="get",
        path="/v1/responses/{response_id}/input_items",
        name="listInputItems",
        scope="responses:read",
        tag="Responses",
        summary="List a response's input items",
        description="The response's own new input; that of the responses it continues is theirs.",
        parameters=(_RESPONSE_ID, *_page("items", r"^([A-Za-z0-9_-]{1,64})?$"), _INCLUDE),
        answers=(Answer(description="A page of items.", content={JSON: answers.ItemList}),),
        refusals=(r.BAD_PARAMETER, r.NO_RESPONSE, *r.ANY_CALL),
    ),
    Call(
        method="post",
        path="/v1/responses/compact",
        name="compactResponse",
        scope="responses:write",
        tag="Responses",
        summary="Compact a conversation",
        description=(
            "Answers a window to go on from: the messages that are not the model's as they are, and one sealed "
            "`compaction` item for everything else, which the model summarises. Send its `output` as input, with what "
            'follows. Nothing is stored. `{"type": "compaction_trigger"}` as the last input item of a create request '
            "does the same to a chain: the response is the `compaction` item, and what continues it has the window."
        ),
        body=COMPACT_BODY,
        body_examples={
            "chain": {
                "model": MODEL,
                "previous_response_id": RESPONSE_ID,
            }
        },
        parameters=(_BACKEND,),
        answers=(Answer(description="The window.", content={JSON: answers.CompactedWindow}),),
        refusals=_GENERATED,
    ),
    Call(
        method="post",
        path="/v1/responses/input_tokens",
        name="countInputTokens",
        scope="responses:write",
        tag="Responses",
        summary="Count input tokens",
        description=(
            "How many tokens a model would read for this request: counted by the model's backend where it can, "
            "else an estimate. Nothing is generated or stored. What the tools that the service runs add (`mcp`, "
            "`antiphon:file_search`) is not counted: no server is asked for them."
        ),
        body=COUNT_BODY,
        body_examples={"text": ASKED},
        parameters=(_BACKEND,),
        answers=(Answer(description="The count.", content={JSON: answers.TokenCount}),),
        refusals=_GENERATED,
    ),
    *files.CALLS,
    Call(
        method="get",
        path="/v1/models",
        name="listModels",
        scope="models:read",
        tag="Models",
        summary="List models",
        description="The models that the key may ask.",
        answers=(Answer(description="All of them.", content={JSON: answers.ModelList}),),
        refusals=(r.BAD_PARAMETER, *r.ANY_CALL),
    ),
    Call(
        method="get",
        path="/v1/models/{model}",
        name="retrieveModel",
        scope="models:read",
        tag="Models",
        summary="Retrieve a model",
        description="One of the models that the key may ask.",
        parameters=(
            Parameter(
                name="model",
                place="path",
                description="The model's name. It may contain slashes.",
                schema={"type": "string", "minLength": 1},
                example=MODEL,
            ),
        ),
        answers=(Answer(description="The model.", content={JSON: answers.Model}),),
        refusals=(r.BAD_PARAMETER, r.NO_MODEL, *r.ANY_CALL),
    ),
    *usage.CALLS,
    Call(
        method="get",
        path="/healthz",
        name="checkHealth",
        tag="Operations",
        summary="Is the process alive?",
        description="Answers as long as the web process does.",
        answers=(Answer(description="It is.", content={JSON: answers.Health}),),
    ),
    Call(
        method="get",
        path="/readyz",
        name="checkReadiness",
        tag="Operations",
        summary="Could a response be generated now?",
        description="Asks every part that is needed, and says which does not answer.",
        answers=(
            Answer(description="Yes.", content={JSON: answers.Readiness}),
            Answer(status=503, description="No: `parts` says why.", content={JSON: answers.Readiness}),
        ),
    ),
    Call(
        method="get",
        path="/openapi.json",
        name="describeApi",
        tag="Reference",
        summary="This document",
        description="OpenAPI 3.1. It has an `ETag`, so that asking again is cheap.",
        answers=(
            Answer(
                description="The document.", content={JSON: dict}, headers={"ETag": "Names this version."}
            ),
            Answer(status=304, description="It has not changed."),
        ),
    ),
    Call(
        method="get",
        path="/docs",
        name="showReference",
        tag="Reference",
        summary="The reference for people",
        description="A page with a short guide and all calls. It loads nothing from elsewhere.",
        answers=(Answer(description="The page.", content={"text/html": str}),),
    ),
    Call(
        method="get",
        path="/llms.txt",
        name="describeForAgents",
        tag="Reference",
        summary="The reference for agents",
        description="All of it in a page of Markdown.",
        answers=(
            Answer(
                description="The page.", content={"text/plain": str}, headers={"ETag": "Names this version."}
            ),
            Answer(status=304, description="It has not changed."),
        ),
    ),
)
