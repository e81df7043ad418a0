"""In which order the targets of a model are asked.

Lower positions come first. Within one each target draws a number by the request's key and its own name, and the lowest
is first (weighted rendezvous hashing): each key has an order of its own, which every process finds again; over many
keys a target is first as often as its weight says; and a target that is added or taken away changes the order of no
others.
"""

import json
import math
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

from responses_api.protocol.target import Target

_BITS: Final = 52


def order_key(tenant_id: str, prompt_cache_key: str | None, response_id: str) -> str:
    """What a request's order hangs on: its prompt cache, so that those which share one meet the same backend; without
    one the response, so that another attempt at it finds the same order.
    """
    return json.dumps([tenant_id, prompt_cache_key] if prompt_cache_key else [response_id])


def in_order(targets: Sequence[Target], key: str) -> list[Target]:
    """The targets as a request of this key asks them."""
    return sorted(targets, key=lambda target: (target.position, _drawn(target, key)))


def with_preference(
    targets: Sequence[Target],
    *,
    told_by: str | None = None,
    held_by: str | None = None,
    is_open: Callable[[str], bool] = lambda name: False,
) -> list[Target]:
    """The targets in their order, but for what is known of their backends, which are told by name.

    Whoever told a part of the answer before (`told_by`) is first: no other would go on with it. Those whose breaker is
    open come last, and are there all the same. Of the others, whoever's state the context holds (`held_by`) is first.
    """
    return sorted(
        targets, key=lambda target: (target.name != told_by, is_open(target.name), target.name != held_by)
    )


def _drawn(target: Target, key: str) -> float:
    """Exponentially distributed, with the weight as its rate: the lowest of several is each by its share."""
    digest = sha256(json.dumps([key, target.name, target.upstream_model]).encode()).digest()
    share = ((int.from_bytes(digest[:8]) >> (64 - _BITS)) + 0.5) / (1 << _BITS)
    return -math.log(share) / target.weight
