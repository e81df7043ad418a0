"""The numbers in a Chat Completions answer: token usage and log probabilities.

JSON has numbers that nothing behind us can carry (`NaN` and `Infinity` as some servers write them, counts beyond 64
bits): those were not told.
"""

import math
from typing import Any

from responses_api.protocol.plain import Json
from responses_api.protocol.wording import safe_text
from workers.backends.parts import UsageReport
from workers.backends.values import count_of

_IMPOSSIBLE = -9999.0


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
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(tokens, list):
        return ()
    return tuple(
        {
            **_token(token),
            "top_logprobs": [_token(top) for top in _list(token.get("top_logprobs")) if _valid(top)],
        }
        for token in tokens
        if _valid(token)
    )


def _valid(token: Any) -> bool:
    return (
        isinstance(token, dict)
        and isinstance(token.get("token"), str)
        and isinstance(token.get("logprob"), int | float)
        and not isinstance(token["logprob"], bool)
        and -math.inf <= token["logprob"] <= math.inf
    )


def _token(token: Json) -> Json:
    text = safe_text(token["token"])
    octets = token.get("bytes")
    # Left out by some servers and null for tokens that are no text of their own.
    if not isinstance(octets, list) or not all(_is_octet(octet) for octet in octets):
        octets = list(text.encode())
    return {"token": text, "logprob": _clamped(token["logprob"]), "bytes": octets}


def _is_octet(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 255


def _clamped(logprob: float) -> float:
    """A token that could not come has minus infinity for a logarithm; the format's own word for it is -9999."""
    return max(_IMPOSSIBLE, min(logprob, -_IMPOSSIBLE))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _detail(usage: Json, group: str, name: str) -> Any:
    details = usage.get(group)
    return details.get(name) if isinstance(details, dict) else None
