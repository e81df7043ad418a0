"""Antiphon as a target."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.targets import Target


@contextmanager
def running_service(stub_port: int) -> Iterator[Target]:
    raise NotImplementedError
    yield
