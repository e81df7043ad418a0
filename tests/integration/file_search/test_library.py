"""Two hundred real documents, and twenty questions whose answers are known."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from responses_api.services.database import lent
from tenants.models import Tenant
from tests.integration.file_search.conftest import found, names, read
from tests.support.library import COUNT, QUESTIONS, RealDocument, documents


@pytest.fixture
def library() -> list[RealDocument]:
    return documents()


def test_the_right_document_is_among_the_first_three(
    library: list[RealDocument], friend_tenant: Tenant, stranger_tenant: Tenant
) -> None:
    assert len(library) == COUNT
    assert {document.ending for document in library} == {"txt", "md", "html", "pdf"}
    began = time.monotonic()
    # As a worker has it: two readers.
    with ThreadPoolExecutor(2) as readers:
        list(readers.map(lambda one: lent(read, friend_tenant, one.filename, one.content), library))
    print(f"\nread {COUNT} documents in {time.monotonic() - began:.1f} s")
    answers = dict(_answers(friend_tenant))
    missed = {name: told[:4] for name, told in answers.items() if name not in told[:3]}
    firsts = sum(told[0] == name for name, told in answers.items())
    print(f"first: {firsts} of {len(QUESTIONS)}")
    assert missed == {}
    assert not any(found(stranger_tenant, question) for question in QUESTIONS.values())


def _answers(tenant: Tenant) -> Iterator[tuple[str, list[str]]]:
    for name, question in QUESTIONS.items():
        began = time.monotonic()
        told = [filename.rpartition(".")[0] for filename in names(found(tenant, question))]
        print(f"{(time.monotonic() - began) * 1000:5.0f} ms  {name}: {told[:4]}")
        yield name, told
