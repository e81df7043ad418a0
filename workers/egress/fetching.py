"""An image or a file from an address that a request named."""

import asyncio
from collections.abc import Sequence
from ssl import SSLContext
from typing import Final

import httpx2

from responses_api.protocol.egress import EgressError, EgressRules, check_url
from workers.egress.body import too_slow
from workers.egress.client import guarded_client
from workers.egress.limits import Limits
from workers.egress.resolving import Resolver, system_resolver

MOST_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


async def fetch(
    url: str,
    *,
    rules: EgressRules,
    limits: Limits,
    accept: Sequence[str] = ("*/*",),
    resolver: Resolver = system_resolver,
    tls: SSLContext | None = None,
) -> bytes:
    """The bytes at `url`, or where that sends one; what its server calls them is no more than its word. `limits` hold
    for the whole of it, redirects included.

    Raises `EgressError`, which tells the client why there is nothing, and the log some more.
    """
    check_url(url, rules)
    headers = {"accept": ", ".join(accept)}
    try:
        async with (
            asyncio.timeout(limits.seconds),
            guarded_client(rules, limits, headers=headers, resolver=resolver, tls=tls) as client,
        ):
            return await _follow(client, url)
    except (TimeoutError, httpx2.TimeoutException):
        raise too_slow(limits) from None
    except httpx2.InvalidURL as error:
        raise EgressError(
            "is no address that can be asked for, or sends one on to such", str(error)
        ) from None
    except httpx2.HTTPError as error:
        reason = f"{type(error).__name__}: {error}"
        raise EgressError(
            "could not be fetched: its server did not answer as one of HTTP should", reason
        ) from None


async def _follow(client: httpx2.AsyncClient, url: str) -> bytes:
    here = httpx2.URL(url)
    for _ in range(MOST_REDIRECTS + 1):
        client.cookies.clear()
        async with client.stream("GET", here) as response:
            if response.status_code not in _REDIRECTS:
                return await _read(response)
            here = _next(here, response)
    raise EgressError(f"sends one on more than {MOST_REDIRECTS} times")


def _next(here: httpx2.URL, response: httpx2.Response) -> httpx2.URL:
    """Where an answer sends one. It is judged when it is asked for, like any other address."""
    location = response.headers.get("location")
    if not location:
        raise EgressError(f"answered with status {response.status_code}")
    there = here.join(location)
    if here.scheme == "https" and there.scheme == "http":
        raise EgressError("sends one on from 'https://' to 'http://'")
    return there


async def _read(response: httpx2.Response) -> bytes:
    if response.status_code != 200:
        raise EgressError(f"answered with status {response.status_code}")
    content = b"".join([piece async for piece in response.aiter_raw()])
    if not content:
        raise EgressError("answered with nothing")
    return content
