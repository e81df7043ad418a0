"""What the web side hands to a worker, and how it crosses.

Plain data only: the worker needs no database to generate, and no code is shared but this.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import orjson

from responses_api.protocol.event_types import Dialect
from responses_api.protocol.items import OPENED_STATE
from responses_api.protocol.plain import Json, fields_of, record_of
from responses_api.protocol.target import Target

HEAD_BYTES: Final = 256
"""How much of a job's bytes says whose it is."""

Purpose = Literal["respond", "count_tokens", "compact"]
"""What a job asks of its worker: a response, how many tokens its input has, or its conversation compacted."""

STATE: Final = OPENED_STATE
"""Where an adapter finds, in a reasoning item, the list of what its backend wants back. Only there while a job runs."""


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
    `targets` are all that may serve it (`Target.to_plain()`), in the order in which they are asked; empty where there
    is only the one that `backend`, `upstream_model`, `context_window` and `prices` tell of.
    `sealed_secrets` are what its tools need to get in elsewhere (`protocol.secrets`), sealed for its tenant: they are
    nowhere else, and nowhere in the clear.
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
    targets: list[Json] = field(default_factory=list)
    sealed_secrets: str | None = None

    @property
    def is_background(self) -> bool:
        """Whether nobody waits for it: its row is there before its end, and it survives whoever asked."""
        return bool(self.request.get("background"))

    @property
    def is_told_shorter(self) -> bool:
        """Whether its conversation is compacted, not answered."""
        return self.purpose == "compact" or bool(self.request.get("compacts"))

    @property
    def context(self) -> list[Json]:
        """The whole conversation: the history, then the new input."""
        return [*self.history, *self.input_items]

    @property
    def target(self) -> Target:
        """The one that it is asked of now."""
        return Target(self.backend, self.upstream_model, self.context_window, self.prices)

    def at(self, target: Target) -> "Job":
        """The same job, asked of this target."""
        return replace(
            self,
            backend=target.backend,
            upstream_model=target.upstream_model,
            context_window=target.context_window,
            prices=target.prices,
        )

    def among(self, targets: Sequence[Target]) -> "Job":
        """The same job, asked of the first of these targets, or else of the others in their order."""
        others_too = [target.to_plain() for target in targets] if len(targets) > 1 else []
        return replace(self.at(targets[0]), targets=others_too)

    def choices(self) -> list[Target]:
        """All targets that may serve it, at least one."""
        if not self.targets:
            return [self.target]
        return [Target.from_plain(target) for target in self.targets]

    def to_bytes(self) -> bytes:
        """The job as JSON. Whose it is stands in the first `HEAD_BYTES`, before its conversation."""
        return orjson.dumps(fields_of(self))

    @staticmethod
    def may_be_of(tenant_id: str, head: bytes) -> bool:
        """Whether bytes that begin so can be a job of this tenant."""
        return orjson.dumps(tenant_id) in head

    @classmethod
    def from_bytes(cls, data: bytes) -> "Job":
        """The inverse of `to_bytes`. Raises ValueError or TypeError when the bytes are not a whole job."""
        return record_of(cls, orjson.loads(data))
