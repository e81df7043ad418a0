"""The streaming events. Specification: "Streaming"; the `Response…StreamingEvent` schemas."""

from typing import Annotated, Literal, NotRequired

import pydantic
from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from responses_api.protocol.errors import ErrorType
from responses_api.protocol.published.items import Item
from responses_api.protocol.published.parts import (
    Annotation,
    LogProb,
    StreamedPart,
    SummaryTextPart,
)
from responses_api.protocol.published.response import Response
from responses_api.protocol.published.shape import shape


class _Event(TypedDict):
    sequence_number: int


class _OfResponse(_Event):
    response: Response


class _OfItem(_Event):
    output_index: int
    item: Item


class _InItem(_Event):
    item_id: str
    output_index: int


class _InContent(_InItem):
    content_index: int


class _InSummary(_InItem):
    summary_index: int


@shape
class ResponseCreatedEvent(_OfResponse):
    """The response exists: the first event."""

    type: Literal["response.created"]


@shape
class ResponseQueuedEvent(_OfResponse):
    """The response waits for a worker."""

    type: Literal["response.queued"]


@shape
class ResponseInProgressEvent(_OfResponse):
    """The response is being generated."""

    type: Literal["response.in_progress"]


@shape
class ResponseCompletedEvent(_OfResponse):
    """The response is complete: the last event."""

    type: Literal["response.completed"]


@shape
class ResponseFailedEvent(_OfResponse):
    """The response failed, after an `error` event: the last event."""

    type: Literal["response.failed"]


@shape
class ResponseIncompleteEvent(_OfResponse):
    """The response was cut short or cancelled: the last event."""

    type: Literal["response.incomplete"]


@shape
class OutputItemAddedEvent(_OfItem):
    """An item begins."""

    type: Literal["response.output_item.added"]


@shape
class OutputItemDoneEvent(_OfItem):
    """An item is final."""

    type: Literal["response.output_item.done"]


@shape
class ContentPartAddedEvent(_InContent):
    """A part of a message or of reasoning begins."""

    type: Literal["response.content_part.added"]
    part: StreamedPart


@shape
class ContentPartDoneEvent(_InContent):
    """A part is final."""

    type: Literal["response.content_part.done"]
    part: StreamedPart


@shape
class OutputTextDeltaEvent(_InContent):
    """More text."""

    type: Literal["response.output_text.delta"]
    delta: str
    logprobs: list[LogProb]
    obfuscation: NotRequired[str]


@shape
class OutputTextDoneEvent(_InContent):
    """The whole text of a part."""

    type: Literal["response.output_text.done"]
    text: str
    logprobs: list[LogProb]


@shape
class OutputTextAnnotationAddedEvent(_InContent):
    """The text got an annotation."""

    type: Literal["response.output_text.annotation.added"]
    annotation_index: int
    annotation: Annotation


@shape
class RefusalDeltaEvent(_InContent):
    """More of a refusal."""

    type: Literal["response.refusal.delta"]
    delta: str


@shape
class RefusalDoneEvent(_InContent):
    """The whole refusal."""

    type: Literal["response.refusal.done"]
    refusal: str


@shape
class ReasoningDeltaEvent(_InContent):
    """More raw reasoning. OpenAI's own clients get it as `response.reasoning_text.delta`, the name they know."""

    type: Literal["response.reasoning.delta", "response.reasoning_text.delta"]
    delta: str
    obfuscation: NotRequired[str]


@shape
class ReasoningDoneEvent(_InContent):
    """The whole raw reasoning of a part. OpenAI's own clients get it as `response.reasoning_text.done`."""

    type: Literal["response.reasoning.done", "response.reasoning_text.done"]
    text: str


@shape
class ReasoningSummaryPartAddedEvent(_InSummary):
    """A part of a reasoning summary begins."""

    type: Literal["response.reasoning_summary_part.added"]
    part: SummaryTextPart


@shape
class ReasoningSummaryPartDoneEvent(_InSummary):
    """A part of a reasoning summary is final."""

    type: Literal["response.reasoning_summary_part.done"]
    part: SummaryTextPart


@shape
class ReasoningSummaryTextDeltaEvent(_InSummary):
    """More of a summary."""

    type: Literal["response.reasoning_summary_text.delta"]
    delta: str
    obfuscation: NotRequired[str]


@shape
class ReasoningSummaryTextDoneEvent(_InSummary):
    """The whole text of a summary part."""

    type: Literal["response.reasoning_summary_text.done"]
    text: str


@shape
class FunctionCallArgumentsDeltaEvent(_InItem):
    """More of a call's arguments, a fragment of JSON text."""

    type: Literal["response.function_call_arguments.delta"]
    delta: str
    obfuscation: NotRequired[str]


@shape
class FunctionCallArgumentsDoneEvent(_InItem):
    """The whole arguments of a call."""

    type: Literal["response.function_call_arguments.done"]
    arguments: str


@shape
class McpListToolsInProgressEvent(_InItem):
    """An MCP server is asked for its tools."""

    type: Literal["antiphon:mcp_list_tools.in_progress", "response.mcp_list_tools.in_progress"]


@shape
class McpListToolsCompletedEvent(_InItem):
    """The tools of an MCP server are known."""

    type: Literal["antiphon:mcp_list_tools.completed", "response.mcp_list_tools.completed"]


@shape
class McpListToolsFailedEvent(_InItem):
    """The tools of an MCP server could not be listed; the item says why, and the response goes on without them."""

    type: Literal["antiphon:mcp_list_tools.failed", "response.mcp_list_tools.failed"]


@shape
class McpCallInProgressEvent(_InItem):
    """A tool of an MCP server is being called."""

    type: Literal["antiphon:mcp_call.in_progress", "response.mcp_call.in_progress"]


@shape
class McpCallCompletedEvent(_InItem):
    """The call of an MCP server's tool has its output."""

    type: Literal["antiphon:mcp_call.completed", "response.mcp_call.completed"]


@shape
class McpCallFailedEvent(_InItem):
    """The call of an MCP server's tool failed, or was refused; the item says why, and so does the model learn it."""

    type: Literal["antiphon:mcp_call.failed", "response.mcp_call.failed"]


@shape
class McpCallArgumentsDeltaEvent(_InItem):
    """The arguments of an MCP server's tool that is called, all at once: they are known before."""

    type: Literal["antiphon:mcp_call_arguments.delta", "response.mcp_call_arguments.delta"]
    delta: str


@shape
class McpCallArgumentsDoneEvent(_InItem):
    """The whole arguments of an MCP server's tool that is called."""

    type: Literal["antiphon:mcp_call_arguments.done", "response.mcp_call_arguments.done"]
    arguments: str


@shape
class FileSearchCallInProgressEvent(_InItem):
    """A search in files begins."""

    type: Literal["antiphon:file_search_call.in_progress", "response.file_search_call.in_progress"]


@shape
class FileSearchCallSearchingEvent(_InItem):
    """The files are being searched."""

    type: Literal["antiphon:file_search_call.searching", "response.file_search_call.searching"]


@shape
class FileSearchCallCompletedEvent(_InItem):
    """The search has its results."""

    type: Literal["antiphon:file_search_call.completed", "response.file_search_call.completed"]


@shape
class FileSearchCallFailedEvent(_InItem):
    """The search failed; the item says why."""

    type: Literal["antiphon:file_search_call.failed", "response.file_search_call.failed"]


@shape
class TruncationEvent(_Event):
    """With `truncation: "auto"`: old turns were dropped from the input. A later one replaces it."""

    type: Literal["antiphon:truncation"]
    dropped_items: int
    dropped_turns: int
    input_tokens: int | None
    context_window: int | None


@shape
class StreamedError(TypedDict):
    """What went wrong."""

    type: ErrorType
    code: str | None
    message: str
    param: str | None


@shape
class ErrorEvent(_Event):
    """Something went wrong; `response.failed` follows."""

    type: Literal["error"]
    error: StreamedError


@shape
class WebSocketErrorDetail(TypedDict):
    """What went wrong."""

    type: ErrorType
    code: str
    message: str
    param: str | None


@shape
class WebSocketError(TypedDict):
    """The answer to a message that began no response. The connection can be used on, unless it is then closed."""

    type: Literal["error"]
    status: int
    """The status that HTTP would have answered with."""
    error: WebSocketErrorDetail
    headers: NotRequired[dict[str, str]]
    """What HTTP would have said besides, such as `Retry-After`."""


ResponseStreamEvent = TypeAliasType(
    "ResponseStreamEvent",
    Annotated[
        ResponseCreatedEvent
        | ResponseQueuedEvent
        | ResponseInProgressEvent
        | ResponseCompletedEvent
        | ResponseFailedEvent
        | ResponseIncompleteEvent
        | OutputItemAddedEvent
        | OutputItemDoneEvent
        | ContentPartAddedEvent
        | ContentPartDoneEvent
        | OutputTextDeltaEvent
        | OutputTextDoneEvent
        | OutputTextAnnotationAddedEvent
        | RefusalDeltaEvent
        | RefusalDoneEvent
        | ReasoningDeltaEvent
        | ReasoningDoneEvent
        | ReasoningSummaryPartAddedEvent
        | ReasoningSummaryPartDoneEvent
        | ReasoningSummaryTextDeltaEvent
        | ReasoningSummaryTextDoneEvent
        | FunctionCallArgumentsDeltaEvent
        | FunctionCallArgumentsDoneEvent
        | McpListToolsInProgressEvent
        | McpListToolsCompletedEvent
        | McpListToolsFailedEvent
        | McpCallInProgressEvent
        | McpCallCompletedEvent
        | McpCallFailedEvent
        | McpCallArgumentsDeltaEvent
        | McpCallArgumentsDoneEvent
        | FileSearchCallInProgressEvent
        | FileSearchCallSearchingEvent
        | FileSearchCallCompletedEvent
        | FileSearchCallFailedEvent
        | ErrorEvent
        | TruncationEvent,
        Field(discriminator="type"),
    ],
)
"""Any event of a stream."""


@shape
class ServerSentEvent(TypedDict):
    """An event as it is framed: `event` repeats the `type` of the JSON in `data`."""

    event: str
    data: pydantic.Json[ResponseStreamEvent]


@shape
class StreamEnd(TypedDict):
    """The last line of a stream."""

    data: Literal["[DONE]"]


EventStream = TypeAliasType("EventStream", ServerSentEvent | StreamEnd)
"""Each of what a `text/event-stream` has."""
