"""The errors that calls answer with: each with its status, its code, when it comes, and an example."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

from responses_api.protocol.errors import (
    ProtocolError,
    invalid_request,
    model_error,
    not_found,
    overloaded,
    server_error,
    too_many_requests,
)


class Words(NamedTuple):
    """A piece of a sentence."""

    text: str
    is_code: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """One kind of error. `name` is its code, or a word for it where it has none."""

    name: str
    when: str
    example: ProtocolError

    @property
    def words(self) -> list[Words]:
        """`when`, what stands in backticks apart."""
        return [Words(text, at % 2 == 1) for at, text in enumerate(self.when.split("`")) if text]

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.example.status


def _the(when: str, example: ProtocolError, name: str | None = None) -> Refusal:
    return Refusal(name or example.code or example.type, when, example)


# ---- of any call
NO_KEY: Final = _the(
    "The key is missing, unknown, revoked or expired, or its tenant is switched off. It also ends, in the same words, "
    "what the key had asked for and was still being told.",
    invalid_request(
        "The API key is not valid: it is unknown or was revoked.", code="invalid_api_key", status=401
    ),
)
FAILED: Final = _the(
    "A fault of the server; its log has the cause under the `X-Request-ID`.",
    server_error("The server failed to answer; the request id in X-Request-ID finds the cause in its log."),
)
OVERLOADED: Final = _the(
    "A part of the service has no capacity or does not answer; try again later.",
    overloaded("The database does not answer at the moment; try again."),
)

# ---- of what was asked
BAD_PARAMETER: Final = _the(
    "A query parameter is not one that the call takes.",
    invalid_request("`limit` must be a whole number between 1 and 100.", param="limit"),
    "invalid_parameter",
)
BAD_JSON: Final = _the(
    "The body is not JSON.",
    invalid_request(
        "The request body is not valid JSON: unexpected end of data: line 1 column 1 (char 0).",
        code="invalid_json",
    ),
)
BAD_BODY: Final = _the(
    "The body is cut off, badly compressed, or compressed in more than one piece.",
    invalid_request("The compressed request body is cut off."),
    "bad_body",
)
MISSING: Final = _the(
    "A field is missing.",
    invalid_request("'model' is required.", param="model", code="missing_required_parameter"),
)
WRONG_TYPE: Final = _the(
    "A field has another type.",
    invalid_request("'stream' must be true or false.", param="stream", code="invalid_type"),
)
WRONG_VALUE: Final = _the(
    "A field has a value that it may not have.",
    invalid_request("'temperature' must be at most 2.", param="temperature", code="invalid_value"),
)
UNSUPPORTED: Final = _the(
    "Well formed, but not offered here.",
    invalid_request(
        "Tools of the type 'web_search' are not offered by this server for this model; it serves: function.",
        param="tools[0].type",
        code="unsupported_value",
    ),
)
TOO_LARGE: Final = _the(
    "The body is larger than the server takes, or has too many values.",
    invalid_request("The request body is larger than the 67108864 bytes that are allowed.", status=413),
    "too_large",
)
WRONG_MEDIA: Final = _the(
    "The body's `Content-Type` is not `application/json`, or its `Content-Encoding` not gzip or zstd.",
    invalid_request("The header Content-Type must be application/json.", status=415),
    "unsupported_media_type",
)

# ---- of responses and models
NO_RESPONSE: Final = _the(
    "No such response for this key: unknown, deleted and somebody else's look alike.",
    not_found("Response with id 'resp_1' not found."),
)
NO_FILE: Final = _the(
    "No such file for this key: unknown, deleted, expired and somebody else's look alike.",
    not_found("File with id 'file_1' not found."),
    "file_not_found",
)
BAD_FORM: Final = _the(
    "The body is no well-formed form, or its file is empty, or has a name that none can have.",
    invalid_request("'file' is empty.", param="file"),
    "bad_form",
)
FILE_TOO_LARGE: Final = _the(
    "The file is larger than the server takes.",
    invalid_request(
        "'file' is larger than the 67108864 bytes that a file may have.", param="file", status=413
    ),
    "file_too_large",
)
STORAGE_FULL: Final = _the(
    "The tenant's files have as many bytes as they may have together.",
    invalid_request(
        "The files of this tenant may have 1073741824 bytes together, and 'file' does not fit beside those that are "
        "stored; delete some first.",
        param="file",
        code="storage_full",
        status=413,
    ),
)
NO_FORM: Final = _the(
    "The body's `Content-Type` is not `multipart/form-data`, or it is compressed.",
    invalid_request("The header Content-Type must be multipart/form-data, with its boundary.", status=415),
    "no_form",
)
NO_MODEL: Final = _the(
    "No such model for this key.",
    invalid_request("The model 'no-such' does not exist.", param="model", code="model_not_found", status=404),
)
NO_BACKEND: Final = _the(
    "`Antiphon-Backend` names no enabled backend of the model.",
    invalid_request(
        "The model 'fast' is served by no enabled backend named 'east'.",
        param="Antiphon-Backend",
        code="backend_not_found",
        status=404,
    ),
)
RUNNING: Final = _the(
    "The response has to end first.",
    invalid_request(
        "The response 'resp_1' is still in progress; wait until it has ended.",
        param="previous_response_id",
        code="response_in_progress",
        status=409,
    ),
)
NOT_BACKGROUND: Final = _the(
    "The response was not created with `background: true`.",
    invalid_request(
        "Only a background response can be cancelled; 'resp_1' was not created with `background: true`.",
        param="response_id",
        code="not_a_background_response",
    ),
)
BAD_KEY: Final = _the(
    "The header `Idempotency-Key` is not 1 to 255 visible ASCII characters.",
    invalid_request(
        "The header Idempotency-Key must be 1 to 255 visible ASCII characters.", param="Idempotency-Key"
    ),
    "invalid_idempotency_key",
)
KEY_REUSED: Final = _the(
    "The `Idempotency-Key` was used for another request.",
    invalid_request(
        "This Idempotency-Key was used for another request; take a new one for each request.",
        param="Idempotency-Key",
        code="idempotency_key_reused",
        status=409,
    ),
)
ANSWER_GONE: Final = _the(
    "The request of this `Idempotency-Key` was answered; the answer was not stored, or was deleted.",
    invalid_request(
        "The answer to this Idempotency-Key was given, and is not stored; take a new key to ask again.",
        param="Idempotency-Key",
        code="idempotency_key_answer_gone",
        status=409,
    ),
)
NO_PREVIOUS: Final = _the(
    "`previous_response_id` names nothing that can be continued.",
    invalid_request(
        "Previous response with id 'resp_1' not found.",
        param="previous_response_id",
        code="previous_response_not_found",
    ),
)
NO_ITEM: Final = _the(
    "An item reference names no stored item.",
    invalid_request(
        "The item 'msg_1' was not found: 'input[0]' must name an item of a stored response.",
        param="input[0].id",
        code="item_not_found",
    ),
)
BAD_SEAL: Final = _the(
    "An item's `encrypted_content` is not one that this server gave to this tenant.",
    invalid_request(
        "The encrypted content of this reasoning item cannot be opened: it is not what this service sent to this "
        "tenant. Send it back unchanged, or leave the item out.",
        param="input[0].encrypted_content",
        code="invalid_encrypted_content",
    ),
)
OLD_SEAL: Final = _the(
    "An item's `encrypted_content` is older than the server takes it back.",
    invalid_request(
        "The encrypted content of this reasoning item has expired. Leave the item out.",
        param="input[0].encrypted_content",
        code="encrypted_content_expired",
    ),
)
NO_APPROVAL_REQUEST: Final = _the(
    "The input answers an approval request that is not in the conversation.",
    invalid_request(
        "'input[0].approval_request_id' must name an mcp_approval_request before it in the conversation; there is no "
        "'mcpr_1'.",
        param="input[0].approval_request_id",
        code="approval_request_not_found",
    ),
)
APPROVAL_USED: Final = _the(
    "The approval request was answered before, or its call was run.",
    invalid_request(
        "The approval of 'mcpr_1' was used by another response: a call is run once for each approval. Ask the model "
        "again for another call.",
        param="input[0].approval_request_id",
        code="approval_used",
    ),
)
UNPAIRED: Final = _the(
    "A function call has no output, or an output no call.",
    invalid_request(
        "The call_id 'call_1' has no function_call_output.", param="input", code="unpaired_call_id"
    ),
)

# ---- of the model
TOO_LONG: Final = _the(
    "The conversation does not fit into the model's context.",
    invalid_request(
        "The input does not fit into the context window of the model.",
        param="input",
        code="context_length_exceeded",
    ),
)
NOT_FETCHED: Final = _the(
    "The address of an image, a file or a video gave nothing that could be used, or may not be reached; only for "
    "models whose backend does not fetch addresses itself.",
    invalid_request(
        "The address in 'input[0].content[1].image_url' leads nowhere that may be reached from here.",
        param="input[0].content[1].image_url",
        code="url_not_fetched",
    ),
)
NOT_USABLE: Final = _the(
    "An uploaded file that the input names is not kept here (any more), is no image where one is asked for, or all of "
    "them together are too much for a model.",
    invalid_request(
        "The file in 'input[0].content[1].file_id' is not kept here: 'file_1'.",
        param="input[0].content[1].file_id",
        code="file_not_usable",
    ),
)
REJECTED: Final = _the(
    "The model's backend refused the request, in its own words.",
    invalid_request(
        "The model's backend refused the request: images are not supported.", code="upstream_rejected"
    ),
)
LIMITED: Final = _the(
    "A limit of a minute, of the tenant, the key or the model's backend, was hit; the message names it.",
    too_many_requests(
        "The limit of 60 requests per minute of the key has no room for this request: 60 used or reserved. "
        "It resets at 2026-11-30T12:01:00Z.",
        retry_after=20,
    ),
)
QUOTA: Final = _the(
    "A limit of tokens or money, of a day or a month (UTC), has no room for what the request may take; the message "
    "names it and says when it resets.",
    too_many_requests(
        "The limit of 20 USD per day of the tenant has no room for this request: 19.98 USD used or reserved. "
        "It may take 0.031 USD, by its input and 'max_output_tokens'. It resets at 2026-12-01T00:00:00Z.",
        code="quota_exceeded",
        retry_after=43_140,
    ),
)
CONCURRENCY: Final = _the(
    "As many responses run, or wait in the background, as may at the same time.",
    too_many_requests(
        "The limit of 8 responses at the same time of the key has no room for this request: 8 used or reserved. "
        "Wait until a response has ended.",
        code="concurrency_exceeded",
        retry_after=1,
    ),
)
RATE_HEADERS: Final = {
    f"x-ratelimit-{part}-{name}": text.format(name)
    for name in ("requests", "tokens")
    for part, text in (
        ("limit", "The tightest hard limit of {} per minute that holds for the request, if there is one."),
        ("remaining", "How many {} are left of it; what running responses may still use is taken off."),
        ("reset", "When it resets, such as `12s`."),
    )
}
"""What answers tell of a client's limits, where it has any."""
UPSTREAM: Final = _the(
    "The model's backend failed or cannot be reached.",
    model_error("The connection to the model's backend was lost."),
)
UPSTREAM_SLOW: Final = _the(
    "The model's backend did not answer in time.",
    model_error("The model's backend did not answer in time.", code="upstream_timeout"),
)

# ---- of a response that had begun: the `error` of a failed one, and of the stream's `error` event
NOT_ALLOWED: Final = _the(
    "The model made a call that the request, or a tool policy of the tenant or the key, does not allow.",
    model_error(
        "The model called 'f', which the request's 'tool_choice' does not allow.", code="tool_not_allowed"
    ),
)
NO_CALL: Final = _the(
    "The model did not make the call that the request demands.",
    model_error(
        "The model did not call 'f', although the request's 'tool_choice' demands it.",
        code="tool_call_missing",
    ),
)
NO_SECRETS: Final = _the(
    "The key is gone that sealed what the request's MCP servers need, before a worker had the request.",
    server_error(
        "The headers of the request's MCP servers cannot be opened any more: the key that sealed them is none of "
        "ANTIPHON_SEAL_KEYS. Send the request again.",
        code="tool_secrets_unreadable",
    ),
)
TOO_MANY_ROUNDS: Final = _the(
    "The model went on calling tools that the service runs.",
    model_error(
        "The model went on to call tools after 32 rounds (ANTIPHON_MAX_TOOL_ROUNDS).", code="too_many_rounds"
    ),
)
CANCELLED: Final = _the(
    "The request was cancelled before it was answered.",
    server_error("The request was cancelled.", code="cancelled"),
)
WORKER_LOST: Final = _the(
    "The worker that generated the response is gone.",
    server_error("The worker that generated this response was lost.", code="worker_lost"),
)
TOO_SLOW: Final = _the(
    "The client did not read what was sent to it; ask again.",
    invalid_request(
        "The client reads more slowly than the response is generated, and too much waits to be sent; ask again.",
        code="client_too_slow",
    ),
)
EVENTS_LOST: Final = _the(
    "Events were lost on their way; ask again.",
    server_error("The event log lost a part of this response; ask again.", code="events_lost"),
)
DERAILED: Final = _the(
    "The server failed to end the response.",
    server_error("The server failed to end the response.", code="generation_failed"),
)
NOT_STORED: Final = _the(
    "The response could not be stored.",
    server_error("The response could not be stored.", code="storage_failed"),
)

# ---- of addresses
WRONG_METHOD: Final = _the(
    "The address has no such method; `Allow` lists those it has.",
    invalid_request('Method "PUT" not allowed.', status=405),
    "method_not_allowed",
)
FORBIDDEN: Final = _the(
    "The key does not have the scope that the call or the header `Antiphon-Backend` needs, or may not be used from "
    "where the client is.",
    invalid_request(
        "This API key does not have the scope 'responses:write', which this call needs.",
        code="permission_denied",
        status=403,
    ),
)

# ---- of WebSocket
NO_WEBSOCKET: Final = _the(
    "WebSocket is switched off on this server.",
    invalid_request(
        "WebSocket is switched off on this server; send POST /v1/responses.",
        code="websocket_disabled",
        status=426,
    ),
)
TOO_LONG_MESSAGE: Final = _the(
    "The message is larger than a body may be.",
    invalid_request(
        "The message is larger than the 67108864 bytes that are allowed.",
        code="message_too_large",
        status=413,
    ),
)
QUEUE_FULL: Final = _the(
    "Too much waits on the connection already.",
    too_many_requests(
        "16 messages wait on this connection, and it keeps 16 of 67108864 bytes in all; wait for a response to end "
        "before you send more.",
        code="websocket_queue_full",
    ),
)
TIME_IS_UP: Final = _the(
    "The connection has lasted as long as one may; connect again.",
    invalid_request(
        "A connection lasts for 3600 seconds at most; connect again to go on.",
        code="websocket_connection_limit_reached",
    ),
)

IN_A_STREAM: Final = (
    UPSTREAM,
    UPSTREAM_SLOW,
    LIMITED,
    OVERLOADED,
    NOT_ALLOWED,
    NO_CALL,
    NO_SECRETS,
    TOO_MANY_ROUNDS,
    WORKER_LOST,
    TOO_SLOW,
    EVENTS_LOST,
    DERAILED,
    NOT_STORED,
    FAILED,
)
"""What ends a response that had begun: the `error` event and the `error` of the failed response carry its code."""

ANY_CALL: Final = (NO_KEY, FORBIDDEN, FAILED, OVERLOADED)
"""What may become of any call that needs a key."""
ANY_BODY: Final = (BAD_JSON, BAD_BODY, MISSING, WRONG_TYPE, WRONG_VALUE, UNSUPPORTED, TOO_LARGE, WRONG_MEDIA)
"""What can be wrong with a body."""

EVERY: Final = tuple(
    sorted(
        (value for value in list(globals().values()) if isinstance(value, Refusal)),
        key=attrgetter("status"),
    )
)
"""All of them, by status."""
