"""Content parts as clients send them, and their canonical form.

Canonical means: known fields only, nulls left out, `annotations` always there.
Specification: the `…ContentParam` schemas.
"""

import re
from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, BeforeValidator, Field, Tag, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from responses_api.protocol.plain import Json
from responses_api.protocol.validation import (
    INTEGER_LIMIT,
    TEXT_LIMIT,
    UNKNOWN_TYPE,
    WHOLE,
    by_type,
    refusal,
)
from responses_api.protocol.wording import safe_text

IMAGE_URL_LIMIT = 20_971_520
FILE_DATA_LIMIT = 33_554_432

Text = Annotated[str, Field(max_length=TEXT_LIMIT)]

# Without flags, so that a JSON Schema can say the same: schemes and types are written in any case.
HTTP_URL_PATTERN = r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s/]"
IMAGE_DATA_URL_PATTERN = (
    r"^[Dd][Aa][Tt][Aa]:[Ii][Mm][Aa][Gg][Ee]/[A-Za-z0-9.+-]+(?:;[^,;]*)*;[Bb][Aa][Ss][Ee]64,."
)
_HTTP_URL = re.compile(HTTP_URL_PATTERN)
_IMAGE_DATA_URL = re.compile(IMAGE_DATA_URL_PATTERN)


def _unwrap_url(value: Any) -> Any:
    """Chat Completions writes `{"url": …}`; many clients kept the habit."""
    if isinstance(value, dict) and "url" in value:
        return value["url"]
    return value


def _check_image_url(url: str) -> str:
    if not _HTTP_URL.match(url) and not _IMAGE_DATA_URL.match(url):
        raise refusal("must be an http(s) URL or a data:image/...;base64,... URL")
    return url


def _check_http_url(url: str) -> str:
    if not _HTTP_URL.match(url):
        raise refusal("must be an http(s) URL")
    return url


def without_nulls(value: Json) -> Json:
    """The same object without its null fields."""
    return {key: entry for key, entry in value.items() if entry is not None}


def _canonical_image(part: Json) -> Json:
    part = without_nulls(part)
    if "file_id" not in part:
        if "image_url" not in part:
            raise refusal("is required, unless 'file_id' is given", at="image_url")
        return part
    if "image_url" in part:
        raise refusal("cannot be given together with 'image_url'", at="file_id")
    return {**part, "image_url": None}


def _canonical_file(part: Json) -> Json:
    part = without_nulls(part)
    content = [field for field in ("file_data", "file_url") if field in part]
    if "file_id" in part and content:
        raise refusal(f"cannot be given together with '{content[0]}'", at="file_id")
    if "file_id" not in part and not content:
        raise refusal("is required, unless 'file_url' or 'file_id' is given", at="file_data")
    return part


def _fill_annotations(part: Json) -> Json:
    part["annotations"] = part.get("annotations") or []
    return part


_IMAGE_URL_SCHEMA = {
    "type": "string",
    "maxLength": IMAGE_URL_LIMIT,
    "pattern": f"{HTTP_URL_PATTERN}|{IMAGE_DATA_URL_PATTERN}",
}
_WRAPPED_URL_SCHEMA = {
    "type": "object",
    "properties": {"url": _IMAGE_URL_SCHEMA},
    "required": ["url"],
}

FileId = Annotated[str, Field(min_length=1, description="A file that was uploaded to `/v1/files`.")]
ImageUrl = Annotated[
    str,
    Field(max_length=IMAGE_URL_LIMIT),
    BeforeValidator(_unwrap_url),
    AfterValidator(_check_image_url),
    WithJsonSchema({"anyOf": [_IMAGE_URL_SCHEMA, _WRAPPED_URL_SCHEMA]}),
]
HttpUrl = Annotated[
    str, AfterValidator(_check_http_url), Field(json_schema_extra={"pattern": HTTP_URL_PATTERN})
]


class InputText(TypedDict):
    """Text from the caller."""

    type: Literal["input_text"]
    text: Text


class InputImage(TypedDict):
    """An image by URL, inline as a data URL, or by the id of an uploaded file."""

    type: Literal["input_image"]
    file_id: NotRequired[FileId | None]
    image_url: NotRequired[ImageUrl | None]
    detail: NotRequired[Literal["low", "high", "auto"] | None]


class InputFile(TypedDict):
    """A file by URL, inline as base64, or by the id of an uploaded one."""

    type: Literal["input_file"]
    file_id: NotRequired[FileId | None]
    filename: NotRequired[str | None]
    file_data: NotRequired[Annotated[str, Field(min_length=1, max_length=FILE_DATA_LIMIT)] | None]
    file_url: NotRequired[HttpUrl | None]


class InputVideo(TypedDict):
    """A video by URL."""

    type: Literal["input_video"]
    video_url: str


class UrlCitation(TypedDict):
    """An annotation of output text; indexes count characters."""

    type: Literal["url_citation"]
    start_index: Annotated[int, Field(ge=0, le=INTEGER_LIMIT), WHOLE]
    end_index: Annotated[int, Field(ge=0, le=INTEGER_LIMIT), WHOLE]
    url: str
    title: str


class FileCitation(TypedDict):
    """An annotation of output text as OpenAI has it of files: `index` is the character that it stands before."""

    type: Literal["file_citation"]
    file_id: str
    filename: str
    index: Annotated[int, Field(ge=0, le=INTEGER_LIMIT), WHOLE]


Annotation = Annotated[
    Annotated[UrlCitation, Tag("~url_citation")] | Annotated[FileCitation, Tag("~file_citation")],
    by_type("url_citation", "file_citation"),
]


def url_citation(annotation: Json) -> Json | None:
    """An annotation as the specification has it, of one that an upstream told; None where it has no form for it."""
    told = annotation.get("url_citation")
    fields = {**annotation, **told} if isinstance(told, dict) else annotation
    start, end, url = (fields.get(name) for name in ("start_index", "end_index", "url"))
    if fields.get("type") != "url_citation" or not isinstance(url, str):
        return None
    if not all(type(index) is int and 0 <= index <= INTEGER_LIMIT for index in (start, end)):
        return None
    title = fields.get("title")
    return {
        "type": "url_citation",
        "start_index": start,
        "end_index": end,
        "url": safe_text(url),
        "title": safe_text(title) if isinstance(title, str) else "",
    }


class OutputText(TypedDict):
    """Text the model said."""

    type: Literal["output_text"]
    text: Text
    annotations: NotRequired[Annotated[list[Annotation], Field(fail_fast=True)] | None]


class Refusal(TypedDict):
    """The model's words for saying no."""

    type: Literal["refusal"]
    refusal: Text


class ReasoningText(TypedDict):
    """Raw reasoning, replayed."""

    type: Literal["reasoning_text", "text"]
    text: Text


class SummaryText(TypedDict):
    """A part of a reasoning summary."""

    type: Literal["summary_text"]
    text: Text


class _OfTextType(TypedDict):
    type: Literal["input_text"]


class _OfInputType(TypedDict):
    type: Literal["input_text", "input_image", "input_file"]


class _OfOutputType(TypedDict):
    type: Literal["output_text", "refusal"]


class _OfToolOutputType(TypedDict):
    type: Literal["input_text", "input_image", "input_file", "input_video"]


InputPart = Annotated[
    Annotated[InputText, Tag("~input_text")]
    | Annotated[InputImage, AfterValidator(_canonical_image), Tag("~input_image")]
    | Annotated[InputFile, AfterValidator(_canonical_file), Tag("~input_file")]
    | Annotated[_OfInputType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    by_type("input_text", "input_image", "input_file"),
]
"""What a user message holds."""

InstructionPart = Annotated[
    Annotated[InputText, Tag("~input_text")] | Annotated[_OfTextType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    by_type("input_text"),
]
"""What a system or developer message holds."""

OutputPart = Annotated[
    Annotated[OutputText, AfterValidator(_fill_annotations), Tag("~output_text")]
    | Annotated[Refusal, Tag("~refusal")]
    | Annotated[_OfOutputType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    by_type("output_text", "refusal"),
]
"""What an assistant message holds."""

ToolOutputPart = Annotated[
    Annotated[InputText, Tag("~input_text")]
    | Annotated[InputImage, AfterValidator(_canonical_image), Tag("~input_image")]
    | Annotated[InputFile, AfterValidator(_canonical_file), Tag("~input_file")]
    | Annotated[InputVideo, Tag("~input_video")]
    | Annotated[_OfToolOutputType, Tag(UNKNOWN_TYPE), SkipJsonSchema()],
    by_type("input_text", "input_image", "input_file", "input_video"),
]
"""What a function may answer with, besides a string."""
