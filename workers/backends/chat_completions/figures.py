"""The numbers in a Chat Completions answer: token usage and log probabilities.

JSON has numbers that nothing behind us can carry, such as counts beyond 64 bits: those were not told.
"""

from typing import Any

from responses_api.protocol.plain import Json
from workers.backends.logprobs import read_logprobs as logprobs_of
from workers.backends.parts import UsageReport
from workers.backends.values import count_of, detail_of


def read_usage(usage: Json) -> UsageReport:
    """The counts under this format's names; what is missing or makes no sense counts 0."""
    cached = count_of(detail_of(usage, "prompt_tokens_details", "cached_tokens"))
    return UsageReport(
        input_tokens=count_of(usage.get("prompt_tokens")),
        output_tokens=count_of(usage.get("completion_tokens")),
        # DeepSeek's own name for the same figure.
        cached_tokens=cached or count_of(usage.get("prompt_cache_hit_tokens")),
        reasoning_tokens=count_of(detail_of(usage, "completion_tokens_details", "reasoning_tokens")),
        total_tokens=count_of(usage.get("total_tokens")) or None,
    )


def read_logprobs(logprobs: Any) -> tuple[Json, ...]:
    """`choice.logprobs` as `LogProb` objects."""
    return logprobs_of(logprobs.get("content")) if isinstance(logprobs, dict) else ()
