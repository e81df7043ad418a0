"""How a call is described."""

from dataclasses import dataclass, field
from typing import Any, Literal

from responses_api.http.reference.refusals import Refusal
from responses_api.protocol.plain import Json
from responses_api.services.access import Scope

JSON = "application/json"
SSE = "text/event-stream"
FORM = "multipart/form-data"
BYTES = "application/octet-stream"

Method = Literal["get", "post", "delete"]
Tag = Literal["Responses", "Files", "Models", "Usage", "Operations", "Reference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of the path, the query or a header."""

    name: str
    place: Literal["path", "query", "header"]
    description: str
    schema: Json
    example: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer that is no error. `content` is the published type of each media type's body."""

    description: str
    content: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One method at one address. `body` is the type that validates its body; `path` is as OpenAPI writes it."""

    method: Method
    path: str
    name: str
    tag: Tag
    summary: str
    description: str
    answers: tuple[Answer, ...]
    refusals: tuple[Refusal, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    body_media: str = JSON
    body_examples: dict[str, Json] = field(default_factory=dict)
    scope: Scope | None = None
    """The scope that a key needs for it; None: it needs no key."""
    extra: Json = field(default_factory=dict)

    @property
    def needs_key(self) -> bool:
        """Whether a key has to be sent."""
        return self.scope is not None
