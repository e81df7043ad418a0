"""An httpx client that goes only where it may: what the MCP SDK takes in the place of its own."""

from collections.abc import Callable, Mapping
from ssl import SSLContext
from typing import Final

import httpx2

from responses_api.protocol.egress import EgressRules
from workers.egress.limits import Limits
from workers.egress.resolving import Resolver, system_resolver
from workers.egress.transport import GuardedTransport

AGENT: Final = "antiphon"

Around = Callable[[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport]
"""Makes of the guarded transport another one, which asks it."""


def guarded_client(
    rules: EgressRules,
    limits: Limits,
    *,
    only: str | None = None,
    headers: Mapping[str, str] | None = None,
    resolver: Resolver = system_resolver,
    tls: SSLContext | None = None,
    around: Around | None = None,
) -> httpx2.AsyncClient:
    """A client to be used as a context manager. It follows no redirect by itself, and nothing of the environment
    changes where it connects to. `only` is a URL: it speaks to that origin alone, so that its headers reach no other.

    What it raises is httpx's, and `EgressError` for what was refused, unless what is put `around` its transport does
    otherwise. Raises `EgressError` at once where `only` may not be reached.
    """
    transport = GuardedTransport(rules, limits, only=only, resolver=resolver, tls=tls)
    return httpx2.AsyncClient(
        transport=transport if around is None else around(transport),
        headers={"user-agent": AGENT, **{name.lower(): value for name, value in (headers or {}).items()}},
        timeout=httpx2.Timeout(limits.idle_seconds, connect=limits.connect_seconds),
        follow_redirects=False,
        trust_env=False,
    )
