"""What was fetched for a job, as each backend's format has it; and what one response fetches, once."""

import base64
import time
from collections.abc import Iterator
from dataclasses import replace

import orjson
import pytest
from pytest_django import Settings

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from tenants.models import Tenant
from tests.integration.builders import BACKEND, job_of
from tests.integration.http.routes import deaf_address
from tests.support.pictures import PDF, PNG, Gallery, gallery
from workers.backends.registry import adapter_of
from workers.media import with_content

KINDS = ("chat_completions", "openai_chat_completions", "responses", "anthropic", "gemini")


@pytest.fixture
def pictures(settings: Settings) -> Iterator[Gallery]:
    """A server that may be fetched from, and no other one."""
    with gallery() as found:
        settings.EGRESS_ALLOW = ["127.0.0.1"]
        found.things |= {"/a": ("image/png", PNG), "/b.pdf": ("application/pdf", PDF)}
        yield found


def job(pictures: Gallery, kind: str = "chat_completions", media_urls: str = "fetched") -> Job:
    parts: list[Json] = [
        {"type": "input_image", "image_url": f"{pictures.url}/a"},
        {"type": "input_file", "file_url": f"{pictures.url}/b.pdf"},
    ]
    backend = replace(BACKEND, kind=kind, media_urls=media_urls)
    return job_of(Tenant(), [{"role": "user", "content": parts}], backend=backend)


@pytest.mark.parametrize("kind", KINDS)
async def test_every_format_carries_what_was_fetched(kind: str, pictures: Gallery) -> None:
    ready = await with_content(job(pictures, kind))
    sent = orjson.dumps(adapter_of(BackendSpec.from_plain(ready.backend)).build(ready)).decode()
    for content in (PNG, PDF):
        assert base64.b64encode(content).decode() in sent
    assert pictures.url not in sent


async def test_a_job_stays_as_it_was_where_its_backend_fetches(pictures: Gallery) -> None:
    given = job(pictures, media_urls="sent")
    assert await with_content(given) is given
    assert pictures.asked == []


async def test_one_response_fetches_an_address_once_and_another_one_anew(pictures: Gallery) -> None:
    given = job(pictures)
    first, second = await with_content(given), await with_content(given)
    assert first == second
    assert sorted(pictures.asked) == ["/a", "/b.pdf"]
    await with_content(job(pictures))
    assert sorted(pictures.asked) == ["/a", "/a", "/b.pdf", "/b.pdf"]


async def test_what_gave_nothing_once_is_not_asked_for_again(pictures: Gallery) -> None:
    given = job(pictures)
    del pictures.things["/a"]
    for _ in range(2):
        with pytest.raises(ProtocolError) as refused:
            await with_content(given)
        assert (refused.value.code, refused.value.reason) == ("url_not_fetched", "answered with status 404")
    assert sorted(pictures.asked) == ["/a", "/b.pdf"]


async def test_all_that_a_response_fetches_has_one_time(pictures: Gallery, settings: Settings) -> None:
    settings.FETCH_SECONDS = 0.2
    with deaf_address() as deaf:
        parts: list[Json] = [{"type": "input_image", "image_url": f"{deaf}/{at}"} for at in range(9)]
        given = job_of(
            Tenant(), [{"role": "user", "content": parts}], backend=replace(BACKEND, media_urls="fetched")
        )
        began = time.monotonic()
        with pytest.raises(ProtocolError, match=r"0\.2 seconds"):
            await with_content(given)
    assert time.monotonic() - began < 2
