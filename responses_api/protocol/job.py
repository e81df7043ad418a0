"""What the web side hands to a worker, and how it crosses.

Plain data only: the worker needs no database to generate, and no code is shared but this.
"""

from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeVar

import orjson

from responses_api.protocol.event_types import Dialect
from responses_api.protocol.plain import Json

_T = TypeVar("_T")

HEAD_BYTES: Final = 256
"""How much of a job's bytes says whose it is."""

Purpose = Literal["respond", "count_tokens", "compact"]
"""What a job asks of its worker: a response, how many tokens its input has, or its conversation compacted."""

STATE: Final = "state"
"""Where an adapter finds, in a reasoning item, the list of what its backend wants back. Only there while a job runs."""


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """Where and how to call a model. All timeouts are in seconds.

    `api_key_env` names the environment variable of the worker that holds the credential: the credential
    itself never travels. `token_counting` says who counts tokens: the worker ("local"), or the backend and how;
    `images` what becomes of an image: "sent", "noted" (the model reads that there was one) or "refused".
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

    def to_plain(self) -> Json:
        """Every field as JSON."""
        return _to_plain(self)

    @classmethod
    def from_plain(cls, plain: Json) -> "BackendSpec":
        """The inverse of `to_plain`; fields that a newer sender added are ignored."""
        return _from_plain(cls, plain)


@dataclass(frozen=True, slots=True)
class Job:
    """One response to generate, or what else `purpose` says.

    `request` is `CreateRequest.to_plain()`; `history` the conversation so far; `input_items` the new input
    as it is stored (canonical items with id and status); `backend` is `BackendSpec.to_plain()`; `created_at`
    is in unix seconds; `inbox` the web process that follows live, if one does; `context_window` the most tokens that
    the model takes, input and output together, where that is known; `attempt` how many workers had it before,
    `losses` how many of those were lost with it.
    `prices` are those of the model now, in nano-units (1e-9) of the currency for a million tokens: `input`,
    `cached_input`, `output`. `policies` are the tool policies in force, as `protocol.policy` reads them.
    `reserved` is what its tenant's quotas hold for it: `tokens` and `nanos` (nano-units of money); None where there is
    no limit. `output_cap` are the most tokens that it may say, where the client named no limit of its own. `spent` is
    what lost attempts at it used (`quotas.spending.Used`).
    What is `is_keyed` may be asked for again: it goes on without its client, and all that it tells is journaled.
    """

    response_id: str
    tenant_id: str
    key_id: str
    request_id: str
    created_at: int
    request: Json
    history: list[Json]
    input_items: list[Json]
    backend: Json
    upstream_model: str
    inbox: str | None
    dialect: Dialect
    context_window: int | None = None
    purpose: Purpose = "respond"
    attempt: int = 0
    losses: int = 0
    is_keyed: bool = False
    prices: Json | None = None
    policies: list[Json] | None = None
    reserved: Json | None = None
    output_cap: int | None = None
    spent: Json | None = None

    @property
    def is_background(self) -> bool:
        """Whether nobody waits for it: its row is there before its end, and it survives whoever asked."""
        return bool(self.request.get("background"))

    @property
    def context(self) -> list[Json]:
        """The whole conversation: the history, then the new input."""
        return [*self.history, *self.input_items]

    def to_bytes(self) -> bytes:
        """The job as JSON. Whose it is stands in the first `HEAD_BYTES`, before its conversation."""
        return orjson.dumps(_to_plain(self))

    @staticmethod
    def may_be_of(tenant_id: str, head: bytes) -> bool:
        """Whether bytes that begin so can be a job of this tenant."""
        return orjson.dumps(tenant_id) in head

    @classmethod
    def from_bytes(cls, data: bytes) -> "Job":
        """The inverse of `to_bytes`. Raises ValueError or TypeError when the bytes are not a whole job."""
        return _from_plain(cls, orjson.loads(data))


def _to_plain(record: Any) -> Json:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _from_plain(cls: type[_T], plain: Json) -> _T:
    known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    return cls(**{name: value for name, value in plain.items() if name in known})
