"""Quotas: what a tenant may use up is counted in Valkey before a request is admitted, and settled once by what it used.

The ledger in PostgreSQL is the truth: the counters are what it adds up to and what is reserved, and can be rebuilt from
both at any time. `spending`, `bounds`, `windows` and `counters` compute; `gate` reserves, `settling` settles,
`rebuilding` counts anew, `reading` tells where a tenant stands. Counters and reservations hold no content.
"""
