"""The names of what the quotas keep in Valkey. All of a tenant's share one slot of a cluster, by its id in braces.

| key | what |
| --- | --- |
| `counted` | hash: a scope → the letters of the metrics that are counted for it |
| `open` | hash: a response's id → what is reserved for it |
| `running` | hash: scope and letter → how many responses run |
| `minute:…`, `day:…`, `month:…` | hash: scope and letter → what was used in that window, reservations included |
| `lock`, `during` | there while counters are made anew: whose turn it is, and what was settled meanwhile |
"""

import uuid


def prefix(tenant_id: uuid.UUID) -> str:
    """What all keys of a tenant begin with."""
    return f"antiphon:quota:{{{tenant_id}}}:"


def sweep() -> str:
    """Set for as long as nobody else needs to look for what was forgotten."""
    return "antiphon:quota-sweep"
