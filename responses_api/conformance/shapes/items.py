"""Content parts and items.

Specification: `ItemField` and the `…Content` schemas; "Extending Items".
"""

from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Discriminator, Tag
from typing_extensions import TypedDict

_ItemStatus = Literal["in_progress", "completed", "incomplete"]
OTHER: Final = "other"


def by_type(*kinds: str) -> Discriminator:
    """Tells a union's members apart by `type`; vendors' types are taken as they are."""

    def choose(value: Any) -> str | None:
        kind = value.get("type") if isinstance(value, dict) else None
        if kind in kinds:
            return str(kind)
        return OTHER if isinstance(kind, str) and ":" in kind else None

    return Discriminator(
        choose,
        custom_error_type="kind",
        custom_error_message=f"has a type that is neither one of {', '.join(kinds)} nor a vendor's",
    )


Other = Annotated[dict[str, Any], Tag(OTHER)]


class UrlCitation(TypedDict):
    """A place on the web that backs a stretch of text."""

    type: Literal["url_citation"]
    url: str
    start_index: int
    end_index: int
    title: str


class LogProb(TypedDict):
    """A token's log probability."""

    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[dict[str, Any]]


class OutputText(TypedDict):
    """Text of the model."""

    type: Literal["output_text"]
    text: str
    annotations: list[Annotated[Annotated[UrlCitation, Tag("url_citation")] | Other, by_type("url_citation")]]
    logprobs: NotRequired[list[LogProb]]


class Refusal(TypedDict):
    """The model's refusal."""

    type: Literal["refusal"]
    refusal: str


class PlainText(TypedDict):
    """Text of an input, a summary or raw reasoning."""

    type: Literal["input_text", "text", "summary_text", "reasoning_text"]
    text: str


class InputImage(TypedDict):
    """An image as it is listed."""

    type: Literal["input_image"]
    image_url: str | None
    detail: Literal["low", "high", "auto"]


class InputFile(TypedDict):
    """A file as it is listed."""

    type: Literal["input_file"]
    filename: NotRequired[str]
    file_url: NotRequired[str]


class InputVideo(TypedDict):
    """A video as it is listed."""

    type: Literal["input_video"]
    video_url: str


Part = Annotated[
    Annotated[OutputText, Tag("output_text")]
    | Annotated[Refusal, Tag("refusal")]
    | Annotated[PlainText, Tag("input_text")]
    | Annotated[PlainText, Tag("text")]
    | Annotated[PlainText, Tag("summary_text")]
    | Annotated[PlainText, Tag("reasoning_text")]
    | Annotated[InputImage, Tag("input_image")]
    | Annotated[InputFile, Tag("input_file")]
    | Annotated[InputVideo, Tag("input_video")]
    | Other,
    by_type(
        "output_text",
        "refusal",
        "input_text",
        "text",
        "summary_text",
        "reasoning_text",
        "input_image",
        "input_file",
        "input_video",
    ),
]


class Message(TypedDict):
    """A message item."""

    type: Literal["message"]
    id: str
    status: _ItemStatus
    role: Literal["user", "assistant", "system", "developer"]
    content: list[Part]
    phase: NotRequired[Literal["commentary", "final_answer"]]


class FunctionCall(TypedDict):
    """A function call item."""

    type: Literal["function_call"]
    id: str
    call_id: str
    name: str
    arguments: str
    status: _ItemStatus


class FunctionCallOutput(TypedDict):
    """The answer to a function call, as it is listed."""

    type: Literal["function_call_output"]
    id: str
    call_id: str
    output: str | list[Part]
    status: _ItemStatus


class Reasoning(TypedDict):
    """A reasoning item."""

    type: Literal["reasoning"]
    id: str
    summary: list[Part]
    content: NotRequired[list[Part]]
    encrypted_content: NotRequired[str]


class Compaction(TypedDict):
    """A compaction item."""

    type: Literal["compaction"]
    id: str
    encrypted_content: str
    created_by: NotRequired[str]


class VendorItem(TypedDict):
    """An item of a type with a vendor's prefix: "Extending Items" demands these fields of it."""

    type: str
    id: str
    status: str


Item = Annotated[
    Annotated[Message, Tag("message")]
    | Annotated[FunctionCall, Tag("function_call")]
    | Annotated[FunctionCallOutput, Tag("function_call_output")]
    | Annotated[Reasoning, Tag("reasoning")]
    | Annotated[Compaction, Tag("compaction")]
    | Annotated[VendorItem, Tag(OTHER)],
    by_type("message", "function_call", "function_call_output", "reasoning", "compaction"),
]
