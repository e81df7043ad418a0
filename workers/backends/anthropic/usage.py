"""The tokens of an answer. What was read anew, written to the cache and read from the cache is all input."""

from typing import Any, Final

from responses_api.protocol.plain import Json
from workers.backends.parts import UsageReport
from workers.backends.values import count_of

_INPUT: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class UsageReader:
    """Adds up what the messages of one answer cost; each tells its counts once or again, always the whole of them."""

    def __init__(self) -> None:
        self._before: UsageReport | None = None
        self._told: Json = {}

    def read(self, usage: Any) -> list[UsageReport]:
        """The counts so far, if this tells any."""
        if not isinstance(usage, dict):
            return []
        self._told |= {name: value for name, value in usage.items() if value is not None}
        return [self._report()]

    def next_message(self) -> int:
        """Another message follows, which costs its own. How many tokens this one said."""
        said = count_of(self._told.get("output_tokens"))
        self._before, self._told = self._report(), {}
        return said

    def _report(self) -> UsageReport:
        told = self._told
        details = told.get("output_tokens_details")
        now = UsageReport(
            input_tokens=sum(count_of(told.get(name)) for name in _INPUT),
            output_tokens=count_of(told.get("output_tokens")),
            cached_tokens=count_of(told.get("cache_read_input_tokens")),
            reasoning_tokens=count_of(details.get("thinking_tokens")) if isinstance(details, dict) else 0,
        )
        return now if self._before is None else self._before.plus(now)
