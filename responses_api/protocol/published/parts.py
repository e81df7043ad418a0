"""Content parts as items and events carry them.

Specification: the `…Content` schemas.
"""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from responses_api.protocol.published.shape import shape


@shape
class InputTextPart(TypedDict):
    """Text from the caller."""

    type: Literal["input_text"]
    text: str


@shape
class InputImagePart(TypedDict):
    """An image by URL, inline as a data URL, or by the id of an uploaded file."""

    type: Literal["input_image"]
    image_url: str | None
    file_id: NotRequired[str]
    detail: Literal["low", "high", "auto"]


@shape
class InputFilePart(TypedDict):
    """A file by URL, inline as base64, or by the id of an uploaded one."""

    type: Literal["input_file"]
    file_id: NotRequired[str]
    filename: NotRequired[str]
    file_data: NotRequired[str]
    file_url: NotRequired[str]


@shape
class InputVideoPart(TypedDict):
    """A video by URL."""

    type: Literal["input_video"]
    video_url: str


@shape
class UrlCitationAnnotation(TypedDict):
    """Where a piece of the text comes from; indexes count characters."""

    type: Literal["url_citation"]
    start_index: int
    end_index: int
    url: str
    title: str


@shape
class FileCitationAnnotation(TypedDict):
    """Which file that is kept here the text before `index` (a character) comes from; to clients of OpenAI's family."""

    type: Literal["file_citation"]
    file_id: str
    filename: str
    index: int


Annotation = TypeAliasType(
    "Annotation",
    Annotated[UrlCitationAnnotation | FileCitationAnnotation, Field(discriminator="type")],
)


@shape
class TopLogProb(TypedDict):
    """A token that could have stood at a place."""

    token: str
    logprob: float
    bytes: list[int]


@shape
class LogProb(TypedDict):
    """A token, how likely it was, and what else was."""

    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[TopLogProb]


@shape
class OutputTextPart(TypedDict):
    """Text the model said."""

    type: Literal["output_text"]
    text: str
    annotations: list[Annotation]
    logprobs: NotRequired[list[LogProb]]


@shape
class RefusalPart(TypedDict):
    """The model's words for saying no."""

    type: Literal["refusal"]
    refusal: str


@shape
class ReasoningTextPart(TypedDict):
    """Raw reasoning."""

    type: Literal["reasoning_text"]
    text: str


@shape
class SummaryTextPart(TypedDict):
    """A part of a reasoning summary."""

    type: Literal["summary_text"]
    text: str


MessagePart = TypeAliasType(
    "MessagePart",
    Annotated[
        InputTextPart | InputImagePart | InputFilePart | OutputTextPart | RefusalPart,
        Field(discriminator="type"),
    ],
)
ToolOutputPart = TypeAliasType(
    "ToolOutputPart",
    Annotated[InputTextPart | InputImagePart | InputFilePart | InputVideoPart, Field(discriminator="type")],
)
StreamedPart = TypeAliasType(
    "StreamedPart",
    Annotated[OutputTextPart | RefusalPart | ReasoningTextPart, Field(discriminator="type")],
)
