"""Images, files and videos by address, for a backend that does not fetch them: fetched here, and handed over inline.

What was fetched is nowhere stored: the conversation keeps the address. Within one response each is fetched once.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

import structlog
from django.conf import settings

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.egress import EgressError, EgressRules
from responses_api.protocol.job import Job
from responses_api.protocol.media import addresses_in, no_addresses, not_fetched
from responses_api.services.egress import rules
from responses_api.services.offload import off_loop_if
from workers.egress.fetching import fetch
from workers.egress.limits import Limits
from workers.inlining import MUCH_BYTES, Content, Kept, inlined, wanted

log = structlog.get_logger(__name__)

_AT_A_TIME: Final = 4
_MOST_ADDRESSES: Final = 100
_ACCEPTED: Final = ("image/*", "application/pdf", "text/*", "video/*", "*/*;q=0.5")

Found = dict[str, bytes | EgressError]
"""What each address gave, or why it gave nothing."""

_found: Final = Kept[bytes | EgressError]("fetched")


async def with_content(job: Job) -> Job:
    """The job with the content of what it has by address, where its backend wants that; else as it was.

    Raises `ProtocolError` 400, naming the field, for an address that its backend's row has refused, and for one that
    gave nothing that could be used.
    """
    handling = BackendSpec.from_plain(job.backend).media_urls
    if handling == "sent":
        return job
    addresses = wanted(job, addresses_in)
    if not addresses:
        return job
    if handling == "refused":
        raise no_addresses(next(iter(addresses.values())))
    if job.is_told_shorter:
        return job  # with its addresses
    found = await _all(_found.of(job), addresses)
    size = sum(len(content.data) for content in found.values())
    return await off_loop_if(size > MUCH_BYTES, inlined, job, addresses_in, found, not_fetched)


async def _all(found: Found, wanted: Mapping[str, str]) -> dict[str, Content]:
    """What is at the addresses. Raises `ProtocolError` for the first that gave nothing."""
    missing = [url for url in wanted if url not in found]
    if len(found) + len(missing) > _MOST_ADDRESSES:
        raise not_fetched(wanted[missing[-1]], f"is one of more than the {_MOST_ADDRESSES} that are fetched")
    if missing:
        await _fetch(missing, found, rules())
    return {url: _content(url, found[url], param) for url, param in wanted.items()}


def _content(url: str, entry: bytes | EgressError, param: str) -> Content:
    if isinstance(entry, EgressError):
        raise not_fetched(param, str(entry)).because(entry.reason or str(entry))
    return Content(entry, PurePosixPath(unquote(urlsplit(url).path)).name)


async def _fetch(urls: Iterable[str], found: Found, allowed: EgressRules) -> None:
    seconds, most = settings.FETCH_SECONDS, settings.MAX_FETCH_BYTES
    turn = asyncio.Semaphore(_AT_A_TIME)
    began = asyncio.get_running_loop().time()

    async def one(url: str) -> None:
        async with turn:
            try:
                entry = await fetch(url, rules=allowed, limits=Limits(seconds, most), accept=_ACCEPTED)
            except EgressError as error:
                found[url] = error
                return
        size = len(entry) + sum(len(other) for other in found.values() if isinstance(other, bytes))
        found[url] = (
            entry
            if size <= most
            else EgressError(
                f"holds, with the others of this conversation, more than the {most} bytes that may be fetched"
            )
        )

    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
            for url in urls:
                tasks.create_task(one(url))
    except TimeoutError:
        late = EgressError(
            f"was not fetched within the {seconds:g} seconds that all of a conversation may take"
        )
        for url in urls:
            found.setdefault(url, late)
    log.info(
        "media fetched",
        addresses=len(found),
        failed=sum(isinstance(entry, EgressError) for entry in found.values()),
        seconds=round(asyncio.get_running_loop().time() - began, 3),
    )
