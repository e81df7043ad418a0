"""The numbers in a Responses answer: token usage."""

from typing import Any

from responses_api.protocol.plain import Json
from workers.backends.parts import UsageReport
from workers.backends.values import count_of


def read_usage(usage: Json) -> UsageReport:
    """The counts; what is missing or makes no sense counts 0."""
    return UsageReport(
        input_tokens=count_of(usage.get("input_tokens")),
        output_tokens=count_of(usage.get("output_tokens")),
        cached_tokens=count_of(_detail(usage, "input_tokens_details", "cached_tokens")),
        reasoning_tokens=count_of(_detail(usage, "output_tokens_details", "reasoning_tokens")),
        total_tokens=count_of(usage.get("total_tokens")) or None,
    )


def _detail(usage: Json, group: str, name: str) -> Any:
    details = usage.get(group)
    return details.get(name) if isinstance(details, dict) else None
