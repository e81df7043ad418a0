"""The streaming events.

Specification: the `…StreamingEvent` schemas; "Extending streaming events".
"""

from collections.abc import Iterator
from typing import Any, Final, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from responses_api.conformance.shapes.faults import faults_of
from responses_api.conformance.shapes.items import Item, LogProb, Part, UrlCitation
from responses_api.conformance.shapes.resource import ErrorPayload, Response
from responses_api.protocol import event_types as t
from responses_api.protocol.plain import Json


class _Snapshot(TypedDict):
    sequence_number: int
    response: Response


class _OfItem(TypedDict):
    sequence_number: int
    output_index: int
    item: Item | None


class _AtItem(TypedDict):
    sequence_number: int
    item_id: str
    output_index: int


class _AtContent(_AtItem):
    content_index: int


class _AtSummary(_AtItem):
    summary_index: int


class _ContentPart(_AtContent):
    part: Part


class _SummaryPart(_AtSummary):
    part: Part


class _TextDelta(_AtContent):
    delta: str
    logprobs: NotRequired[list[LogProb]]
    obfuscation: NotRequired[str]


class _TextDone(_AtContent):
    text: str
    logprobs: NotRequired[list[LogProb]]


class _Delta(_AtContent):
    delta: str
    obfuscation: NotRequired[str]


class _Refused(_AtContent):
    refusal: str


class _SummaryDelta(_AtSummary):
    delta: str
    obfuscation: NotRequired[str]


class _SummaryDone(_AtSummary):
    text: str


class _Annotated(_AtContent):
    annotation_index: int
    annotation: UrlCitation | None


class _ArgumentsDelta(_AtItem):
    delta: str
    obfuscation: NotRequired[str]


class _ArgumentsDone(_AtItem):
    arguments: str


class _ErrorEvent(TypedDict):
    sequence_number: int
    error: ErrorPayload


class _VendorEvent(TypedDict):
    sequence_number: int


def _of(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


_EVENTS: Final[dict[str, TypeAdapter[Any]]] = {
    **dict.fromkeys(t.SNAPSHOT_TYPES, _of(_Snapshot)),
    **dict.fromkeys((t.OUTPUT_ITEM_ADDED, t.OUTPUT_ITEM_DONE), _of(_OfItem)),
    **dict.fromkeys((t.CONTENT_PART_ADDED, t.CONTENT_PART_DONE), _of(_ContentPart)),
    **dict.fromkeys((t.REASONING_SUMMARY_PART_ADDED, t.REASONING_SUMMARY_PART_DONE), _of(_SummaryPart)),
    t.OUTPUT_TEXT_DELTA: _of(_TextDelta),
    t.OUTPUT_TEXT_DONE: _of(_TextDone),
    t.OUTPUT_TEXT_ANNOTATION_ADDED: _of(_Annotated),
    **dict.fromkeys((t.REFUSAL_DELTA, t.REASONING_DELTA), _of(_Delta)),
    t.REFUSAL_DONE: _of(_Refused),
    t.REASONING_DONE: _of(_TextDone),
    t.REASONING_SUMMARY_TEXT_DELTA: _of(_SummaryDelta),
    t.REASONING_SUMMARY_TEXT_DONE: _of(_SummaryDone),
    t.FUNCTION_CALL_ARGUMENTS_DELTA: _of(_ArgumentsDelta),
    t.FUNCTION_CALL_ARGUMENTS_DONE: _of(_ArgumentsDone),
    t.ERROR: _of(_ErrorEvent),
}
_VENDOR_EVENT = _of(_VendorEvent)


def event_faults(event: Json) -> Iterator[str]:
    """What is wrong with a streaming event by its schema; a type without a vendor's prefix must be a known one."""
    kind = str(event.get("type"))
    shape = _EVENTS.get(kind) or (_VENDOR_EVENT if ":" in kind else None)
    if shape is None:
        yield f"'{kind}' is no event of the specification and has no vendor's prefix"
    else:
        yield from faults_of(shape, event)
