"""The gate: a request is admitted when all hard limits have room for what it may use, and then that is held for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.conf import settings

from responses_api.eventlog.connection import blocking_client
from responses_api.eventlog.turns import background_seconds
from responses_api.quotas import names
from responses_api.quotas.counters import Check, Reservation
from responses_api.quotas.scripts import RAISE, RESERVE
from responses_api.quotas.windows import kept_seconds
from tenants.windows import DAY, MINUTE, MONTH

Answer = Literal["reserved", "held", "refused", "count", "wait"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the gate said: `reserved`, or `held` where it had been before; `refused`; `count` where a counter has to be
    made first, `wait` while one is made.

    `used` is what stood in each check's counter before; `refused_by` the check that has no room, `reached` the soft
    limits that were used up, each told once a window.
    """

    answer: Answer
    used: tuple[int, ...] = ()
    refused_by: Check | None = None
    reached: tuple[Check, ...] = ()


_WAITS: Final[dict[str, Decision]] = {
    "held": Decision("held"),
    "count": Decision("count"),
    "wait": Decision("wait"),
}


async def reserve(client: Any, reservation: Reservation, checks: Sequence[Check]) -> Decision:
    """Reserve what these limits need, if every hard one has room for it: all of it or nothing, in one round trip.

    Raises RedisError or OSError.
    """
    prefix = names.prefix(reservation.tenant_id)
    arguments: list[Any] = [prefix, reservation.response_id, reservation.to_text(), *kept()]
    for check in checks:
        arguments += [check.scope, check.letter, check.amount, int(check.limit.is_hard), str(check.limit.id)]
    keys = [prefix + "counted", prefix + "open", prefix + "lock"]
    reply = await RESERVE.run_soon(client, keys, arguments)
    answer = reply[0].decode()
    if answer in _WAITS:
        return _WAITS[answer]
    used = tuple(map(int, reply[2:]))
    if answer == "refused":
        return Decision("refused", used, refused_by=checks[int(reply[1]) - 1])
    reached = tuple(checks[int(place) - 1] for place in reply[1].split())
    return Decision("reserved", used, reached=reached)


def hold_more(more: Reservation, checks: Sequence[Check]) -> Literal["raised", "refused", "wait", "gone"]:
    """Hold `more` tokens and money for a response that is admitted, if every hard limit has room. Blocks: for threads.

    `gone` where nothing is held for it: no limit held when it came, or Valkey was lost. Raises RedisError or OSError.
    """
    prefix = names.prefix(more.tenant_id)
    arguments: list[Any] = [prefix, more.response_id, more.tokens, more.nanos]
    for check in checks:
        if check.limit.is_hard:
            arguments += [check.scope, check.letter, check.amount]
    answer: Any = RAISE.run(
        blocking_client(), [prefix + name for name in ("counted", "open", "lock")], arguments
    )
    return answer.decode()  # type: ignore[no-any-return]


def kept() -> list[int]:
    """How long is kept, in seconds, what runs and what was counted in a minute, a day and a month."""
    running = background_seconds() + int(settings.QUEUE_SECONDS)
    return [running, *map(kept_seconds, (MINUTE, DAY, MONTH))]
