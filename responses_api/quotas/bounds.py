"""The most that a request can use, before it is made: what is reserved for it. Pure.

A bound must not be too low: a hard limit would be passed by what a request uses beyond it. A token of text is at least
a byte of it, whatever the vocabulary; for what templates put around the texts there is room. Images are no text: what
one costs is a guess, high for most models. A compaction asks its model several times: what it needs is a guess, too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from responses_api.protocol.backend_options import options_bytes
from responses_api.protocol.job import Purpose
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.quotas.counters import COSTS, TOKENS, Check
from responses_api.quotas.spending import byte_length, most_cost, strings
from tenants.metrics import MOST

IMAGE_TOKENS: Final = 2_048
_REQUEST_TOKENS: Final = 256
"""For a template's own preamble and the beginning of the answer."""
_ITEM_TOKENS: Final = 12
_TOOLS_TOKENS: Final = 512
_COMPACTION_TOKENS: Final = 2_048
_LEAST_OUTPUT: Final = 16
_SHARE: Final = 4
"""An answer whose length its client left open may take this part of the tightest limit."""
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Bound:
    """What is reserved: tokens, and nano-units of money. `output_cap` is what an answer without a limit is cut at."""

    tokens: int
    nanos: int
    output_cap: int | None

    def to_plain(self) -> Json:
        """What the job carries of it."""
        return {"tokens": self.tokens, "nanos": self.nanos}


def bound(
    request: CreateRequest,
    context: Iterable[Sequence[Json]],
    *,
    checks: Sequence[Check],
    prices: Json,
    context_window: int | None,
    most_output: int,
    purpose: Purpose,
    generates: bool = True,
    named_bytes: int = 0,
) -> Bound:
    """The bound of a request on this context (lists of items), with files of so many `named_bytes` that it names by id.

    `most_output` is the longest answer that is reserved for where the client names no limit; then the answer is cut
    there, if a hard limit of tokens or money is among `checks`. One that does not `generates` needs nothing.
    """
    if not generates:
        return Bound(0, 0, None)
    read = _most_input(request, context) + named_bytes
    said, cap = request.max_output_tokens, None
    if said is None:
        said = _allowance(checks, prices, context_window, most_output)
        cap = said if any(_binds(check) for check in checks) else None
    if purpose == "compact" or request.compacts:
        read, said = 2 * read + _COMPACTION_TOKENS, 2 * said
    return Bound(min(MOST, read + said), most_cost(read, said, prices), cap)


def _most_input(request: CreateRequest, context: Iterable[Sequence[Json]]) -> int:
    tokens = _REQUEST_TOKENS + byte_length(request.instructions or "")
    for items in context:
        for item in items:
            tokens += _ITEM_TOKENS + sum(map(byte_length, strings(item)))
            tokens += len(str(item.get("encrypted_content") or "")) + _images_in(item) * IMAGE_TOKENS
    if request.tools:
        tokens += _TOOLS_TOKENS + len(orjson.dumps(request.tools))
    if request.text["format"]["type"] != "text":
        tokens += len(orjson.dumps(request.text))
    return tokens + options_bytes(request.backend_options)


def _images_in(item: Json) -> int:
    parts = item.get("content") if item["type"] == "message" else item.get("output")
    return sum(part.get("type") == "input_image" for part in parts) if isinstance(parts, list) else 0


def _allowance(checks: Sequence[Check], prices: Json, context_window: int | None, most: int) -> int:
    """How long an answer is provided for whose length was left open."""
    allowed = [most] if context_window is None else [most, context_window]
    for check in checks:
        if check.letter in TOKENS and check.limit.is_hard:
            allowed.append(check.amount // _SHARE)
        elif check.letter in COSTS and check.limit.is_hard and prices["output"]:
            allowed.append(check.amount * _MILLION // prices["output"] // _SHARE)
    return max(_LEAST_OUTPUT, min(allowed))


def _binds(check: Check) -> bool:
    return check.limit.is_hard and check.letter in TOKENS | COSTS
