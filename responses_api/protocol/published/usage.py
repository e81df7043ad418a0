"""The answers that tell what was used, and where limits stand."""

from typing import Literal

from typing_extensions import TypedDict

from responses_api.protocol.published.shape import shape


@shape
class UsageBucket(TypedDict):
    """What one group used. A group in which nothing was used has no bucket."""

    object: Literal["usage.bucket"]
    start: int
    """Unix seconds. A request counts for the time at which it came."""
    end: int
    """Unix seconds: the first that does not belong to it."""
    model: str | None
    """Null unless it was grouped by model."""
    key: str | None
    """The key's id; null unless it was grouped by key."""
    requests: int
    """The requests that were admitted and have ended, however they did."""
    errors: int
    """Those of them that failed."""
    input_tokens: int
    cached_tokens: int
    """Of the input, what the backend had cached."""
    output_tokens: int
    reasoning_tokens: int
    """Of the output, what was reasoning."""
    cost: str
    """In the currency, exact, as a decimal."""
    cost_nanos: int
    """The same in billionths of the currency."""


@shape
class UsageReport(TypedDict):
    """A page of what was used in a period."""

    object: Literal["usage"]
    start: int
    """Unix seconds: where the period begins, on the edge of an hour or a day."""
    end: int
    """Unix seconds: the first that does not belong to it."""
    group_by: list[Literal["day", "hour", "model", "key"]]
    currency: str
    data: list[UsageBucket]
    """In the order of their starts, models and keys."""
    has_more: bool
    next_page: str | None
    """What `page` takes to get the next page; null where this is the last one."""


@shape
class LimitNow(TypedDict):
    """A limit that holds for the key, and where it stands. Amounts of cost are in billionths of the currency."""

    object: Literal["limit"]
    id: str
    scope: Literal["tenant", "key"]
    """Whose requests it counts: all of the tenant's, or this key's alone."""
    model: str | None
    """The model that it counts; null for all of them together."""
    metric: Literal[
        "requests_per_minute",
        "tokens_per_minute",
        "concurrent_responses",
        "tokens_per_day",
        "tokens_per_month",
        "cost_per_day",
        "cost_per_month",
    ]
    kind: Literal["hard", "soft"]
    """A hard limit refuses what would go beyond it; a soft one lets it pass."""
    set_by: Literal["operator", "tenant"]
    amount: int
    used: int
    """By what has ended."""
    reserved: int
    """For what runs: settled by what it used when it ends."""
    remaining: int
    """What is left; never less than zero."""
    resets_at: int | None
    """Unix seconds: when it begins anew; null where nothing does."""


@shape
class LimitList(TypedDict):
    """Every limit that holds for the key. Where there are none, nothing is limited."""

    object: Literal["list"]
    currency: str
    data: list[LimitNow]
