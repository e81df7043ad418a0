"""The numbers in a Chat Completions answer: token usage and log probabilities.

JSON has numbers that nothing behind us can carry (`NaN` and `Infinity` as some servers write them, counts beyond 64
bits): those were not told.
"""

from typing import Any

from responses_api.protocol.plain import Json
from workers.backends.parts import UsageReport
from workers.backends.values import count_of, log_prob


def read_usage(usage: Json) -> UsageReport:
    """The counts under this format's names; what is missing or makes no sense counts 0."""
    cached = count_of(_detail(usage, "prompt_tokens_details", "cached_tokens"))
    return UsageReport(
        input_tokens=count_of(usage.get("prompt_tokens")),
        output_tokens=count_of(usage.get("completion_tokens")),
        # DeepSeek's own name for the same figure.
        cached_tokens=cached or count_of(usage.get("prompt_cache_hit_tokens")),
        reasoning_tokens=count_of(_detail(usage, "completion_tokens_details", "reasoning_tokens")),
        total_tokens=count_of(usage.get("total_tokens")) or None,
    )


def read_logprobs(logprobs: Any) -> tuple[Json, ...]:
    """`choice.logprobs` as `LogProb` objects, `bytes` and `top_logprobs` always there."""
    told = logprobs.get("content") if isinstance(logprobs, dict) else None
    return tuple(
        {**token, "top_logprobs": [top for _, top in _tokens(entry.get("top_logprobs"))]}
        for entry, token in _tokens(told)
    )


def _tokens(entries: Any) -> list[tuple[Json, Json]]:
    """The entries that tell of a token, each with what it tells."""
    told = (entry for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict))
    read = ((entry, log_prob(entry.get("token"), entry.get("logprob"), entry.get("bytes"))) for entry in told)
    return [(entry, token) for entry, token in read if token is not None]


def _detail(usage: Json, group: str, name: str) -> Any:
    details = usage.get(group)
    return details.get(name) if isinstance(details, dict) else None
