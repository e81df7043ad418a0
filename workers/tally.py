"""What the rounds of one response used, added up: as its backends told, else as it is counted here."""

import asyncio
from collections.abc import Sequence

import structlog

from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.quotas.spending import Used
from workers.backends.parts import UsageReport
from workers.charging import counted, is_told

log = structlog.get_logger(__name__)


class Tally:
    """The rounds that have ended. `used` is what they are charged, `told` what their backends told of it; None where
    none did.
    """

    def __init__(self) -> None:
        self.used = Used()
        self.told: UsageReport | None = None

    def told_with(self, report: UsageReport) -> UsageReport:
        """What was told, with the report of the round that runs now."""
        return report if self.told is None else self.told.plus(report)

    async def add(
        self, asked: Job, said: Sequence[Json], report: UsageReport | None, *, is_last: bool
    ) -> None:
        """Add a round that has ended. `asked` is its job as its backend accepted it, nothing sealed in it, `said` what
        the model said, `is_last` whether its backend said nothing after its report.
        """
        usage = None if report is None else report.to_usage()
        if report is not None:
            self.told = self.told_with(report)
        if usage is not None and is_told(usage, said, is_last=is_last):
            self.used = self.used.plus(Used.from_usage(usage))
            return
        try:
            self.used = self.used.plus(await asyncio.to_thread(counted, asked, said, usage))
        except Exception:  # whatever it is, it must not take the response with it
            log.exception("what a round used could not be counted")
