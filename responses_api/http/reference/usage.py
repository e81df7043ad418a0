"""The calls that tell what was used and where limits stand, as the registry has them."""

from typing import Final

from responses_api.http.reference import refusals as r
from responses_api.http.reference.call import JSON, Answer, Call, Parameter
from responses_api.protocol.plain import Json
from responses_api.protocol.published.usage import LimitList, UsageReport

_MOMENT: Final[Json] = {
    "anyOf": [
        {"type": "string", "format": "date", "pattern": "^(19[7-9]|20)"},
        {"type": "integer", "minimum": 0, "maximum": 4_102_444_799},
    ]
}
_PERIOD: Final = (
    Parameter(
        name="start",
        place="query",
        description="A date such as 2026-11-30 (its beginning, UTC) or unix seconds, rounded down to the day or hour. "
        "Left out: 30 days before the end.",
        schema=_MOMENT,
        example="2026-11-01",
    ),
    Parameter(
        name="end",
        place="query",
        description="As `start`, rounded up; the first moment that does not belong to the period. Left out: now.",
        schema=_MOMENT,
    ),
    Parameter(
        name="group_by",
        place="query",
        description="`day` or `hour`, `model`, `key`, separated by commas. Left out: `day`. By `model` or `key` alone "
        "the whole period is one bucket for each.",
        schema={
            "type": "string",
            "pattern": "^(day|hour|model|key)(,(day|hour|model|key))*$",
            "default": "day",
        },
        example="day,model",
    ),
    Parameter(
        name="model",
        place="query",
        description="This model only.",
        schema={"type": "string"},
    ),
    Parameter(
        name="key",
        place="query",
        description="The key with this id only.",
        schema={"type": "string", "format": "uuid"},
    ),
    Parameter(
        name="limit",
        place="query",
        description="How many buckets at most.",
        schema={"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
    ),
    Parameter(
        name="page",
        place="query",
        description="The `next_page` of the page before, with everything else as it was.",
        schema={"type": "string"},
    ),
)

CALLS: Final[tuple[Call, ...]] = (
    Call(
        method="get",
        path="/v1/usage",
        scope="usage:read",
        name="readUsage",
        tag="Usage",
        summary="Read what was used",
        description=(
            "The requests of the key's tenant, with their tokens and their cost, added up by day or hour, by model and "
            "by key. It is exact up to the last request that has ended. By the day a period has 400 days at most, by "
            "the hour 31."
        ),
        parameters=_PERIOD,
        answers=(Answer(description="A page of buckets.", content={JSON: UsageReport}),),
        refusals=(r.BAD_PARAMETER, *r.ANY_CALL),
    ),
    Call(
        method="get",
        path="/v1/limits",
        scope="usage:read",
        name="listLimits",
        tag="Usage",
        summary="List the limits that hold",
        description="Every limit that a request with this key may run into, and what is used of it now.",
        answers=(Answer(description="All of them.", content={JSON: LimitList}),),
        refusals=(r.BAD_PARAMETER, *r.ANY_CALL),
    ),
)
