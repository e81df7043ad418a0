"""The numbers in a Responses answer: token usage."""

from responses_api.protocol.plain import Json
from workers.backends.parts import UsageReport
from workers.backends.values import count_of, detail_of


def read_usage(usage: Json) -> UsageReport:
    """The counts; what is missing or makes no sense counts 0."""
    return UsageReport(
        input_tokens=count_of(usage.get("input_tokens")),
        output_tokens=count_of(usage.get("output_tokens")),
        cached_tokens=count_of(detail_of(usage, "input_tokens_details", "cached_tokens")),
        reasoning_tokens=count_of(detail_of(usage, "output_tokens_details", "reasoning_tokens")),
        total_tokens=count_of(usage.get("total_tokens")) or None,
    )
