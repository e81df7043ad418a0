"""The bodies of the answers that are not a response: lists, deletions, models, probes, errors."""

from typing import Literal

from typing_extensions import TypedDict

from responses_api.protocol.errors import ErrorType
from responses_api.protocol.published.items import Item
from responses_api.protocol.published.response import Response, Usage
from responses_api.protocol.published.shape import shape


@shape
class ErrorDetail(TypedDict):
    """What went wrong."""

    message: str
    """A sentence that names the field and what would be right."""
    type: ErrorType
    param: str | None
    """The path of the field, such as `input[2].content[0].image_url`."""
    code: str | None
    """A word for programs."""


@shape
class Error(TypedDict):
    """The body of every answer that is an error."""

    error: ErrorDetail


@shape
class ResponseList(TypedDict):
    """A page of responses."""

    object: Literal["list"]
    data: list[Response]
    first_id: str | None
    last_id: str | None
    """What `after` takes to get the next page."""
    has_more: bool


@shape
class ItemList(TypedDict):
    """A page of items."""

    object: Literal["list"]
    data: list[Item]
    first_id: str | None
    last_id: str | None
    """What `after` takes to get the next page."""
    has_more: bool


@shape
class DeletedResponse(TypedDict):
    """The response is gone for good."""

    id: str
    object: Literal["response"]
    deleted: Literal[True]


@shape
class TokenCount(TypedDict):
    """How many tokens the input has for its model."""

    object: Literal["response.input_tokens"]
    input_tokens: int


@shape
class CompactedWindow(TypedDict):
    """A conversation told shorter, to go on from: the items of `output` are the input of what follows."""

    id: str
    object: Literal["response.compaction"]
    output: list[Item]
    """The messages that are not the model's, then one compaction item for everything else."""
    created_at: int
    """Unix seconds."""
    usage: Usage
    """The sum of all calls that it took."""


@shape
class File(TypedDict):
    """A file that was uploaded."""

    id: str
    object: Literal["file"]
    bytes: int
    """Its size."""
    created_at: int
    """Unix seconds."""
    expires_at: int | None
    """When it is deleted by itself, in unix seconds; null for never."""
    filename: str
    """Its name, without folders and without what cannot be seen."""
    purpose: Literal["assistants", "user_data", "vision"]
    status: Literal["uploaded", "processed", "error"]
    """`uploaded` while its text is being read, then `processed`; `error` where none could be read. The content is there
    in any case."""
    status_details: str | None
    """What there is to say of its status: why its text could not be read."""


@shape
class FileList(TypedDict):
    """A page of files."""

    object: Literal["list"]
    data: list[File]
    first_id: str | None
    last_id: str | None
    """What `after` takes to get the next page."""
    has_more: bool


@shape
class DeletedFile(TypedDict):
    """The file is gone for good."""

    id: str
    object: Literal["file"]
    deleted: Literal[True]


@shape
class Model(TypedDict):
    """A model that can be asked."""

    id: str
    object: Literal["model"]
    created: int
    """Unix seconds."""
    owned_by: str
    """The backend that serves it."""


@shape
class ModelList(TypedDict):
    """All models that the key may ask."""

    object: Literal["list"]
    data: list[Model]


@shape
class Health(TypedDict):
    """The process lives."""

    status: Literal["ok"]


@shape
class Readiness(TypedDict):
    """Whether a response could be generated now."""

    status: Literal["ready", "not ready"]
    parts: dict[str, str]
    """For each part that is needed `ok`, or what is wrong with it."""
