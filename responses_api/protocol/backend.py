"""Where a model runs, and what can be done there: a backend's row as a worker gets to know it."""

from dataclasses import dataclass, field
from typing import Final, Literal

from responses_api.protocol.backend_options import takes
from responses_api.protocol.passthrough import takes_item, takes_tool
from responses_api.protocol.plain import Json, fields_of, record_of

NativeFeature = Literal["previous_response_id", "encrypted_content", "allowed_tools", "response_format"]
"""What a backend that speaks Responses may keep or do by itself."""

NATIVE: Final = "responses"
"""The kind of backends that have features of their own, and types of tools: no other format has a place for them."""


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """Where and how to call a model. All timeouts are in seconds.

    The credential itself never travels: `api_key_env` names the environment variable of the worker that holds it,
    `has_stored_key` says that the backend's row does, sealed. `token_counting` says who counts tokens: the worker
    ("local"), or the backend and how. `images` says what becomes of an image: "sent", "noted" (the model reads that
    there was one) or "refused"; `files` of a file, `structured_output` of a form that the answer is to have: "sent" or
    "refused"; `media_urls` of the address of an image, a file or a video: "sent" for the backend to fetch what is
    there, "fetched" by the worker, or "refused". `tools` are "native", or "emulated" by a schema that the answer is
    held to. `reasoning` is how much of it clients may see: "none", "summary" or "raw"; `thinking_tags` says whether an
    answer tells both tags of the reasoning that its server leaves in the text ("told"), or begins within it ("opened").

    `passthrough_tool_types` are the types of tools that the backend runs or knows by itself, `acme:*` for all of a
    vendor's; `native_features` what else it has (`NativeFeature`). `allowed_options` names the fields of its own that
    requests may set by `antiphon:backend_options`; "*" is any. `default_options` are fields of its own that every call
    for an answer carries, but for those that the request sets.
    """

    name: str
    kind: str
    base_url: str
    api_key_env: str | None
    connect_timeout: float
    first_byte_timeout: float
    idle_timeout: float
    total_timeout: float
    token_counting: str = "local"
    images: str = "sent"
    files: str = "sent"
    media_urls: str = "sent"
    structured_output: str = "sent"
    tools: str = "native"
    reasoning: str = "raw"
    thinking_tags: str = "told"
    has_stored_key: bool = False
    passthrough_tool_types: list[str] = field(default_factory=list)
    native_features: list[str] = field(default_factory=list)
    allowed_options: list[str] = field(default_factory=list)
    default_options: Json = field(default_factory=dict)

    def to_plain(self) -> Json:
        """Every field as JSON."""
        return fields_of(self)

    @classmethod
    def from_plain(cls, plain: Json) -> "BackendSpec":
        """The inverse of `to_plain`; fields that a newer sender added are ignored."""
        return record_of(cls, plain)

    def has(self, feature: NativeFeature) -> bool:
        """Whether the backend has this of its own."""
        return self.kind == NATIVE and feature in self.native_features

    @property
    def other_tool_types(self) -> list[str]:
        """Patterns of the types of tools that may be sent there besides functions."""
        return self.passthrough_tool_types if self.kind == NATIVE else []

    def takes_tool(self, tool_type: str) -> bool:
        """Whether a tool of a type that the service does not serve itself may be sent there."""
        return takes_tool(self.other_tool_types, tool_type)

    def takes_item(self, item_type: str) -> bool:
        """Whether an item of a type that the service does not know may be sent there, or comes from there."""
        return takes_item(self.other_tool_types, item_type)

    @property
    def takes_forms(self) -> bool:
        """Whether an answer can be held to a form: to JSON, or to a schema."""
        return self.structured_output != "refused"

    def takes_option(self, name: str) -> bool:
        """Whether requests may set this field of the backend's own."""
        return takes(self.allowed_options, name)
