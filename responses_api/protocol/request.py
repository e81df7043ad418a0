"""A create request: validated once, with every default filled.

Specification: `CreateResponseBody`. An explicit null means the default; unknown fields are ignored.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from responses_api.protocol.backend_options import FIELD
from responses_api.protocol.compaction import TRIGGER
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.request_body import (
    COMPACTED,
    COUNTED,
    CreateResponseBody,
    ServiceTier,
    Truncation,
)
from responses_api.protocol.secrets import Secrets, without_secrets
from responses_api.protocol.tools import check_labels, check_tool_choice
from responses_api.protocol.validation import refuse_uncarriable, to_protocol_error

_BODY: TypeAdapter[CreateResponseBody] = TypeAdapter(CreateResponseBody)


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """What a client asked for, defaults filled.

    `input` and `tools` are canonical (see `items` and `tools`). A sampling setting of None was not given: the
    backend's own default holds. `text.format` keeps its JSON Schema here; a snapshot does not echo it. `compacts`: the
    input ended with a `compaction_trigger`, which is no item of it; the answer is one compaction item.
    `leaves_out_tools`: tools of types that the model's backends do not take are left out, rather than refused.
    `secrets` are what lets the service in at the servers that `tools` name (`protocol.secrets`): they are in nothing
    that is made of a request but what is sealed for its worker.
    """

    model: str
    input: list[Json]
    previous_response_id: str | None
    instructions: str | None
    tools: list[Json]
    tool_choice: str | Json
    parallel_tool_calls: bool
    temperature: float | None
    top_p: float | None
    presence_penalty: float | None
    frequency_penalty: float | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    reasoning: Json | None
    text: Json
    metadata: dict[str, str]
    include: list[str]
    top_logprobs: int | None
    truncation: Truncation
    service_tier: ServiceTier
    store: bool
    stream: bool
    background: bool
    stream_options: Json | None
    safety_identifier: str | None
    prompt_cache_key: str | None
    backend_options: Json
    compacts: bool
    leaves_out_tools: bool
    secrets: Secrets = field(default_factory=dict, repr=False, compare=False)

    @property
    def obfuscates(self) -> bool:
        """Whether the deltas of the stream are padded: unless the client says no."""
        return self.stream and (self.stream_options or {}).get("include_obfuscation") is not False

    def to_plain(self) -> Json:
        """Every field but `secrets` as JSON, to cross a process boundary."""
        return {name: getattr(self, name) for name in _FIELDS}

    @staticmethod
    def from_plain(plain: Json) -> "CreateRequest":
        """The inverse of `to_plain`, without a second validation. Fields that a newer sender added are ignored, those
        that an older one did not know have their defaults: rows and jobs outlive a deployment.
        """
        return CreateRequest(**{name: plain[name] if name in plain else _DEFAULTS[name] for name in _FIELDS})


_FIELDS = tuple(known.name for known in fields(CreateRequest) if known.name != "secrets")


def parse_create(body: Any, *, may_be_empty: bool = False, leave_out_tools: bool = False) -> CreateRequest:
    """Validate the decoded body of a create request.

    `may_be_empty`: whether it may have no input although it continues nothing, as one that generates nothing may.
    `leave_out_tools`: see `CreateRequest.leaves_out_tools`.
    Raises ProtocolError 400 with `param` as a path, such as `input[2].content[0].image_url`.
    Specification: `CreateResponseBody`.
    """
    if not isinstance(body, dict):
        raise invalid_request("The request body must be a JSON object.", code="invalid_type")
    refuse_uncarriable(body)
    try:
        plain = _BODY.validate_python(body, strict=True)
    except ValidationError as failure:
        raise to_protocol_error(failure) from None
    request = replace(_without_trigger(_fill(plain)), leaves_out_tools=leave_out_tools)
    if not (request.input or request.previous_response_id or may_be_empty):
        raise _no_input()
    check_labels(request.tools)
    check_tool_choice(request.tool_choice, request.tools)
    return request


def parse_count(body: Any, *, leave_out_tools: bool = False) -> CreateRequest:
    """Validate the decoded body of a request to count its input's tokens: the fields of a create request that a model
    reads. Others are ignored; nothing is stored.

    Raises as `parse_create` does.
    """
    if isinstance(body, dict):
        body = {name: body[name] for name in COUNTED if name in body} | {"store": False}
    return parse_create(body, leave_out_tools=leave_out_tools)


def parse_compact(body: Any, *, leave_out_tools: bool = False) -> CreateRequest:
    """Validate the decoded body of a request to compact: fields of a create request; those without effect are ignored.

    Raises as `parse_create` does. Specification: `CompactResponseMethodPublicBody`.
    """
    if isinstance(body, dict):
        body = {name: body[name] for name in COMPACTED if name in body} | {"store": False}
    return replace(parse_create(body, leave_out_tools=leave_out_tools), compacts=True)


def _without_trigger(request: CreateRequest) -> CreateRequest:
    """Take the compaction trigger off the end of the input, the only place that it may have."""
    places = [index for index, item in enumerate(request.input) if item["type"] == TRIGGER]
    if not places:
        return request
    if places[0] != len(request.input) - 1:
        raise invalid_request(
            f"'input[{places[0]}]' must be the last item of the input: it asks that what is before it be compacted.",
            param=f"input[{places[0]}]",
            code="invalid_value",
        )
    if places[0] == 0 and request.previous_response_id is None:
        raise invalid_request(
            "There is nothing before the compaction_trigger that could be compacted.",
            param="input",
            code="missing_required_parameter",
        )
    if request.backend_options:
        raise invalid_request(
            f"A compaction is asked for in the service's own words: leave '{FIELD}' out beside a compaction_trigger.",
            param=FIELD,
            code="unsupported_value",
        )
    return replace(request, input=request.input[:-1], compacts=True)


def _no_input() -> ProtocolError:
    return invalid_request(
        "'input' is required: only a request with 'previous_response_id' may leave it empty.",
        param="input",
        code="missing_required_parameter",
    )


def _fill(body: Any) -> CreateRequest:
    """The request of a validated body. An explicit null and an absent field are the same."""
    get = body.get
    tools, secrets = without_secrets(get("tools") or [])
    return CreateRequest(
        model=body["model"],
        input=_input_items(get("input")),
        previous_response_id=get("previous_response_id"),
        instructions=get("instructions"),
        tools=tools,
        tool_choice=get("tool_choice") or "auto",
        parallel_tool_calls=get("parallel_tool_calls") is not False,
        temperature=get("temperature"),
        top_p=get("top_p"),
        presence_penalty=get("presence_penalty"),
        frequency_penalty=get("frequency_penalty"),
        max_output_tokens=get("max_output_tokens"),
        max_tool_calls=get("max_tool_calls"),
        reasoning=_reasoning(get("reasoning")),
        text=get("text") or {"format": {"type": "text"}},
        metadata=get("metadata") or {},
        include=get("include") or [],
        top_logprobs=get("top_logprobs"),
        truncation=get("truncation") or "disabled",
        service_tier=get("service_tier") or "auto",
        store=get("store") is not False,
        stream=get("stream") is True,
        background=get("background") is True,
        stream_options=get("stream_options"),
        safety_identifier=get("safety_identifier"),
        prompt_cache_key=get("prompt_cache_key"),
        backend_options=get("backend_options") or {},
        compacts=False,
        leaves_out_tools=False,
        secrets=secrets,
    )


def _input_items(value: str | list[Json] | None) -> list[Json]:
    if isinstance(value, str):
        part = {"type": "input_text", "text": value}
        return [{"type": "message", "role": "user", "content": [part]}] if value else []
    return value or []


def _reasoning(value: Json | None) -> Json | None:
    if value is None:
        return None
    return {"effort": value.get("effort"), "summary": value.get("summary")}


_DEFAULTS = _fill({"model": ""}).to_plain()
