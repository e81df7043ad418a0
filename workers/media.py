"""Images, files and videos by address, for a backend that does not fetch them: fetched here, and handed over inline.

What was fetched is nowhere stored: the conversation keeps the address. Within one response each is fetched once,
however many targets are asked and however many rounds it takes.
"""

import asyncio
import base64
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

import structlog
from django.conf import settings

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.egress import EgressError, EgressRules
from responses_api.protocol.job import Job
from responses_api.protocol.media import HISTORY, MediaAddress, addresses_in, no_addresses, not_fetched
from responses_api.protocol.plain import Json
from responses_api.services.egress import rules
from responses_api.services.offload import off_loop_if
from workers.egress.fetching import Fetched, fetch
from workers.egress.limits import Limits
from workers.media_types import ENDINGS, TEXT, type_of

log = structlog.get_logger(__name__)

_AT_A_TIME: Final = 4
_MOST_ADDRESSES: Final = 100
_MUCH_BYTES: Final = 1 << 20
_TAKEN: Final = {
    "input_image": ("no image of a known type (PNG, JPEG, GIF, WebP)", ("image/",)),
    "input_file": ("neither a PDF nor text nor an image", ("application/pdf", "image/", TEXT)),
    "input_video": ("no video of a known type (MP4, QuickTime, WebM)", ("video/",)),
}
_ACCEPTED: Final = ("image/*", "application/pdf", "text/*", "video/*", "*/*;q=0.5")

Found = dict[str, Fetched | EgressError]
"""What each address gave, or why it gave nothing."""

# Of the task that a response runs in: it ends with it.
_found: ContextVar[tuple[str, Found]] = ContextVar("fetched")


async def with_content(job: Job) -> Job:
    """The job with the content of what it has by address, where its backend wants that; else as it was.

    Raises `ProtocolError` 400, naming the field, for an address that its backend's row has refused, and for one that
    gave nothing that could be used.
    """
    handling = BackendSpec.from_plain(job.backend).media_urls
    if handling == "sent":
        return job
    wanted = dict(_wanted(job))
    if not wanted:
        return job
    if handling == "refused":
        raise no_addresses(next(iter(wanted.values())))
    if job.purpose == "compact" or job.request.get("compacts"):
        return job  # what is told shorter is told with its addresses
    found = await _all(job.response_id, wanted)
    size = sum(len(entry.content) for entry in found.values() if isinstance(entry, Fetched))
    return await off_loop_if(size > _MUCH_BYTES, _filled, job, found)


def _wanted(job: Job) -> Iterator[tuple[str, str]]:
    """Each address, and the first field that has it."""
    seen: set[str] = set()
    for index, item in enumerate(job.input_items):
        for address in addresses_in(item):
            if address.url not in seen:
                seen.add(address.url)
                yield address.url, address.param(index)
    for item in job.history:
        for address in addresses_in(item):
            if address.url not in seen:
                seen.add(address.url)
                yield address.url, HISTORY


async def _all(response_id: str, wanted: Mapping[str, str]) -> Found:
    """What the addresses gave. Raises `ProtocolError` for the first that gave nothing."""
    of, found = _found.get(("", {}))
    if of != response_id:
        found = {}
        _found.set((response_id, found))
    missing = [url for url in wanted if url not in found]
    if len(found) + len(missing) > _MOST_ADDRESSES:
        raise not_fetched(wanted[missing[-1]], f"is one of more than the {_MOST_ADDRESSES} that are fetched")
    if missing:
        await _fetch(missing, found, rules())
    for url, param in wanted.items():
        entry = found[url]
        if isinstance(entry, EgressError):
            raise not_fetched(param, str(entry)).because(entry.reason or str(entry))
    return found


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
        size = len(entry.content) + sum(len(e.content) for e in found.values() if isinstance(e, Fetched))
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


def _filled(job: Job, found: Found) -> Job:
    return replace(
        job,
        input_items=[_with(item, found, index) for index, item in enumerate(job.input_items)],
        history=[_with(item, found, None) for item in job.history],
    )


def _with(item: Json, found: Found, index: int | None) -> Json:
    addresses = addresses_in(item)
    if not addresses:
        return item
    holder = addresses[0].holder
    parts = list(item[holder])
    for address in addresses:
        param = HISTORY if index is None else address.param(index)
        parts[address.place] = _inline(parts[address.place], address, found[address.url], param)
    return {**item, holder: parts}


def _inline(part: Json, address: MediaAddress, fetched: Fetched | EgressError, param: str) -> Json:
    assert isinstance(fetched, Fetched)
    media_type = type_of(fetched.content)
    lacking, taken = _TAKEN[address.part_type]
    if media_type is None or not media_type.startswith(taken):
        raise not_fetched(param, f"holds {lacking}")
    data = f"data:{media_type};base64,{base64.b64encode(fetched.content).decode()}"
    if address.part_type != "input_file":
        return {**part, address.field: data}
    name = part.get("filename") or _name(address.url, media_type)
    kept = {field: value for field, value in part.items() if field != address.field}
    return {**kept, "filename": name, "file_data": data}


def _name(url: str, media_type: str) -> str:
    """The name of a file, as its address has it: some backends tell types by it."""
    name = PurePosixPath(unquote(urlsplit(url).path)).name
    return name if PurePosixPath(name).suffix else f"{name or 'file'}.{ENDINGS[media_type]}"
