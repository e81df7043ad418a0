"""What a search finds, and what it never does."""

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest

from responses_api.models import File, FileChunk
from responses_api.models.file import UPLOADED
from responses_api.protocol import file_search
from responses_api.protocol.errors import ProtocolError
from responses_api.services import indexing, stored_files, vectors
from responses_api.services.database import lent
from responses_api.services.file_search import Asked, check, search
from tenants.models import Tenant
from tenants.scoping import tenant_scope
from tests.integration.builders import stored_file
from tests.integration.file_search.conftest import entry, found, names, read
from tests.support.documents import pdf
from workers.indexing import whole
from workers.tools.hosted import HostedProvider
from workers.tools.provider import Ran, Setting
from workers.tools.registry import hosted_tools

HERONS = b"The grey heron stands in shallow water and waits for fish."
BREAD = b"Rye bread needs a sourdough that was fed the day before."
INVOICE = b"Invoice RX-2041-B of the boat yard, to be paid within thirty days."
QUESTION = "Which bird hunts by standing still?"


def status(tenant: Tenant, file_id: str) -> tuple[str, str | None]:
    with tenant_scope(tenant.id):
        row = File.objects.get(id=file_id)
    return row.status, row.status_details


def test_the_passage_that_means_what_is_asked_comes_first(friend_tenant: Tenant) -> None:
    file_id = read(friend_tenant, "herons.txt", HERONS)
    read(friend_tenant, "bread.md", b"# Baking\n\n" + BREAD)
    first = found(friend_tenant, QUESTION)[0]
    assert (first["file_id"], first["filename"], first["text"]) == (file_id, "herons.txt", HERONS.decode())
    assert 0 < first["score"] <= 1
    assert found(friend_tenant, "How is bread made?")[0]["attributes"] == {"headings": "Baking"}


def test_a_name_or_a_number_is_found_by_its_letters(friend_tenant: Tenant) -> None:
    for name, content in (("a.txt", HERONS), ("b.txt", BREAD), ("c.txt", INVOICE)):
        read(friend_tenant, name, content)
    assert names(found(friend_tenant, "RX-2041-B"))[0] == "c.txt"


def test_several_queries_are_searched_together(friend_tenant: Tenant) -> None:
    for name, content in (("a.txt", HERONS), ("b.txt", BREAD), ("c.txt", INVOICE)):
        read(friend_tenant, name, content)
    assert set(names(found(friend_tenant, QUESTION, "sourdough", max_num_results=2))) == {"a.txt", "b.txt"}


def test_one_long_file_does_not_crowd_out_the_others(friend_tenant: Tenant) -> None:
    many = b"\n\n".join(b"# Herons %d\n\n%b" % (number, HERONS * 12) for number in range(12))
    read(friend_tenant, "many.md", many)
    read(friend_tenant, "one.txt", b"A heron is a bird that stands in the water.")
    read(friend_tenant, "two.txt", b"Storks are birds, too, and hunt while they walk.")
    results = found(friend_tenant, QUESTION, max_num_results=6)
    assert set(names(results)) == {"many.md", "one.txt", "two.txt"}
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True)


def test_only_files_that_are_named_are_searched(friend_tenant: Tenant) -> None:
    read(friend_tenant, "herons.txt", HERONS)
    bread = read(friend_tenant, "bread.txt", BREAD)
    assert names(found(friend_tenant, QUESTION, file_ids=[bread])) == ["bread.txt"]


def test_results_below_the_threshold_are_left_out(friend_tenant: Tenant) -> None:
    read(friend_tenant, "herons.txt", HERONS)
    read(friend_tenant, "bread.txt", BREAD)
    assert names(found(friend_tenant, QUESTION, score_threshold=0.2)) == ["herons.txt"]
    assert found(friend_tenant, QUESTION, score_threshold=1.0) == []


def test_another_tenants_file_is_never_found_nor_named(
    friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    theirs = read(stranger_tenant, "herons.txt", HERONS)
    read(friend_tenant, "bread.txt", BREAD)
    assert names(found(friend_tenant, QUESTION)) == ["bread.txt"]
    assert found(friend_tenant, QUESTION, file_ids=[theirs]) == []
    with pytest.raises(ProtocolError) as refused:
        check(entry(file_ids=[theirs]), friend_tenant.id, "tools[0]")
    assert (refused.value.status, refused.value.param) == (400, "tools[0].file_ids[0]")
    check(entry(file_ids=[theirs]), stranger_tenant.id, "tools[0]")


def test_nothing_is_found_where_there_is_nothing(friend_tenant: Tenant) -> None:
    assert found(friend_tenant, QUESTION) == []
    check(entry(), friend_tenant.id, "tools[0]")


def test_a_file_that_is_deleted_is_gone_from_results_at_once(friend_tenant: Tenant) -> None:
    file_id = read(friend_tenant, "herons.txt", HERONS)
    stored_files.delete(friend_tenant.id, file_id)
    assert found(friend_tenant, QUESTION) == []


def test_a_file_that_is_deleted_while_it_is_read_leaves_nothing(
    friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_id = stored_file(friend_tenant, "herons.txt", HERONS)["id"]
    goes_on = indexing.goes_on

    def deleted_first(tenant_id: uuid.UUID, reading: str) -> bool:
        stored_files.delete(tenant_id, reading)
        return goes_on(tenant_id, reading)

    monkeypatch.setattr(indexing, "goes_on", deleted_first)
    whole.index(friend_tenant.id, file_id)
    assert found(friend_tenant, QUESTION) == []


def test_passages_are_there_as_soon_as_their_vectors_and_not_before(
    friend_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_id = stored_file(friend_tenant, "herons.txt", HERONS)["id"]
    add, seen = vectors.add, []

    def count() -> int:
        with tenant_scope(friend_tenant.id):
            return FileChunk.objects.filter(file_id=file_id).count()

    def looked_at(*given: Any) -> None:
        with ThreadPoolExecutor(1) as elsewhere:
            seen.append(elsewhere.submit(lent, count).result())
        add(*given)

    monkeypatch.setattr(vectors, "add", looked_at)
    whole.index(friend_tenant.id, file_id)
    assert (set(seen), count()) == ({0}, 1)


def test_a_file_that_is_read_again_is_found_once(friend_tenant: Tenant) -> None:
    file_id = read(friend_tenant, "herons.txt", HERONS)
    with tenant_scope(friend_tenant.id):
        File.objects.filter(id=file_id).update(status=UPLOADED)
    whole.index(friend_tenant.id, file_id)
    assert len(found(friend_tenant, QUESTION)) == 1


def test_the_same_content_uploaded_twice_is_two_files(friend_tenant: Tenant) -> None:
    ids = {read(friend_tenant, "herons.txt", HERONS) for _ in range(2)}
    assert {result["file_id"] for result in found(friend_tenant, QUESTION)} == ids


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.pdf", pdf("text")[:300], "It is no PDF that can be read: it is broken, or not whole."),
        ("a.pdf", pdf("text", password="x"), "It is encrypted: it can be read without a password only."),
        ("a.bin", bytes(range(256)) * 4, "It is no text, and of no format that can be read here"),
    ],
)
def test_a_file_that_cannot_be_read_ends_with_a_sentence(
    friend_tenant: Tenant, name: str, content: bytes, sentence: str
) -> None:
    file_id = read(friend_tenant, name, content)
    state, details = status(friend_tenant, file_id)
    assert state == "error"
    assert details is not None
    assert details.startswith(sentence)
    with pytest.raises(ProtocolError, match="names a file that could not be read: It is"):
        check(entry(file_ids=[file_id]), friend_tenant.id, "tools[2]")


def test_a_file_that_was_not_read_yet_says_so(friend_tenant: Tenant) -> None:
    file_id = stored_file(friend_tenant)["id"]
    with pytest.raises(
        ProtocolError, match=r"'tools\[1\]\.file_ids\[0\]' names a file that is still being read"
    ):
        check(entry(file_ids=[file_id]), friend_tenant.id, "tools[1]")


def test_a_file_of_another_model_is_found_by_its_words_until_it_is_read_again(friend_tenant: Tenant) -> None:
    file_id = read(friend_tenant, "herons.txt", HERONS)
    asked = [Asked(query, [1.0, 0.0]) for query in ("heron", "hunting bird")]
    by_word, by_meaning = (search(friend_tenant.id, entry(), "another", [query])[0] for query in asked)
    assert (by_word["score"], by_meaning["score"]) == (0.3, 0)
    assert vectors.read_anew("another") == 1
    assert status(friend_tenant, file_id)[0] == "uploaded"
    assert vectors.read_anew("another") == 0


async def run(tenant: Tenant, arguments: str) -> tuple[Ran, list[str]]:
    """One call of the tool, and the steps that it told."""
    steps: list[str] = []
    setting = Setting(tenant.id, uuid.uuid4(), "resp_1", entry())
    provider = HostedProvider(hosted_tools()[file_search.DECLARATION.type], setting)
    ran = await provider.run(provider.offered[0], arguments, steps.append)
    return ran, steps


async def test_a_call_tells_its_steps_and_ends_in_a_whole_receipt(friend_tenant: Tenant) -> None:
    file_id = await asyncio.to_thread(read, friend_tenant, "herons.txt", HERONS)
    ran, steps = await run(friend_tenant, f'{{"queries": ["{QUESTION}"]}}')
    assert steps == ["searching"]
    result = ran.receipt["results"][0]
    assert ran.receipt == {
        "type": "antiphon:file_search_call",
        "status": "completed",
        "queries": [QUESTION],
        "results": [result],
        "error": None,
    }
    assert (result["file_id"], result["text"]) == (file_id, HERONS.decode())
    assert ran.citations == {
        file_search.mark_of(file_id): {
            "type": "file_citation",
            "file_id": file_id,
            "filename": "herons.txt",
        }
    }


async def test_a_receipt_gives_the_same_context_without_a_second_search(friend_tenant: Tenant) -> None:
    file_id = await asyncio.to_thread(read, friend_tenant, "herons.txt", HERONS)
    ran, _ = await run(friend_tenant, '{"query": "heron"}')
    await asyncio.to_thread(stored_files.delete, friend_tenant.id, file_id)
    receipt = {**orjson.loads(orjson.dumps(ran.receipt)), "id": "item_1"}
    assert HERONS.decode() in file_search.DECLARATION.replayed(receipt).output
    assert file_search.DECLARATION.citations(receipt) == ran.citations


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("{", "The arguments are not a JSON object."),
        ("[]", "The arguments are not a JSON object."),
        ("", "'queries' must be a list of strings."),
        ('{"queries": [" "]}', "'queries' must name something to search for."),
    ],
)
async def test_a_call_that_asks_for_nothing_fails_in_a_sentence(
    friend_tenant: Tenant, arguments: str, error: str
) -> None:
    ran, _ = await run(friend_tenant, arguments)
    assert (ran.has_failed, ran.receipt["status"], ran.receipt["error"]) == (True, "failed", error)
    assert file_search.DECLARATION.replayed(ran.receipt).output == f"The call failed: {error}"
