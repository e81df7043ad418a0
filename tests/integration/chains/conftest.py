"""What the tests of chains share."""

from collections.abc import Iterator

import pytest

from responses_api.recent import recent_contexts


@pytest.fixture
def nothing_read() -> Iterator[None]:
    """A process that has read nothing yet."""
    recent_contexts.clear()
    yield
    recent_contexts.clear()
