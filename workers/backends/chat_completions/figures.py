"""The numbers in a Chat Completions answer: token usage and log probabilities."""

from typing import Any

from responses_api.protocol.plain import Json
from workers.backends.parts import UsageReport
from workers.backends.text import safe_text


def read_usage(usage: Json) -> UsageReport:
    """The counts under this format's names; what is missing or null counts 0."""
    cached = _count(_detail(usage, "prompt_tokens_details", "cached_tokens"))
    total = usage.get("total_tokens")
    return UsageReport(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        # DeepSeek's own name for the same figure.
        cached_tokens=cached or _count(usage.get("prompt_cache_hit_tokens")),
        reasoning_tokens=_count(_detail(usage, "completion_tokens_details", "reasoning_tokens")),
        total_tokens=_count(total) if total else None,
    )


def read_logprobs(logprobs: Any) -> tuple[Json, ...]:
    """`choice.logprobs` as `LogProb` objects, `bytes` and `top_logprobs` always there."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list):
        return ()
    return tuple(
        {
            **_token(token),
            "top_logprobs": [_token(top) for top in token.get("top_logprobs") or () if _valid(top)],
        }
        for token in tokens
        if _valid(token)
    )


def _valid(token: Any) -> bool:
    return (
        isinstance(token, dict)
        and isinstance(token.get("token"), str)
        and isinstance(token.get("logprob"), int | float)
    )


def _token(token: Json) -> Json:
    text = safe_text(token["token"])
    octets = token.get("bytes")
    # Left out by some servers and null for tokens that are no text of their own.
    octets = octets if isinstance(octets, list) else list(text.encode())
    return {"token": text, "logprob": token["logprob"], "bytes": octets}


def _detail(usage: Json, group: str, name: str) -> Any:
    details = usage.get(group)
    return details.get(name) if isinstance(details, dict) else None


def _count(value: Any) -> int:
    return max(int(value), 0) if isinstance(value, int | float) else 0
