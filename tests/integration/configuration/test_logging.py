"""What the log tells of a fault: where and what kind, never content."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.db import DatabaseError, connection

from config.logging import FORMATS, rendering

PROMPT = "a prompt that nobody else may read"


def line(style: str, **event: Any) -> str:
    """The event as it is written."""
    made: Any = {"event": "it failed", "level": "error", **event}
    for process in rendering(style):
        made = process(None, "error", made)
    assert not isinstance(made, Mapping)
    return str(made)


@pytest.mark.django_db
@pytest.mark.parametrize("style", FORMATS)
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT %s::uuid",
        "SELECT ('[\"' || %s || '\",}')::json",
        "INSERT INTO responses_api_backend (id, name) VALUES (NULL, %s)",
    ],
)
def test_values_that_the_database_could_not_take_are_not_logged(style: str, statement: str) -> None:
    with pytest.raises(DatabaseError) as raised, connection.cursor() as cursor:
        cursor.execute(statement, [PROMPT])
    assert PROMPT in str(raised.value)
    written = line(style, exc_info=(type(raised.value), raised.value, raised.value.__traceback__))
    assert PROMPT not in written
    assert type(raised.value).__name__ in written


@pytest.mark.parametrize("style", FORMATS)
def test_other_faults_are_told_in_their_words(style: str) -> None:
    try:
        raise RuntimeError("the disk is full")
    except RuntimeError:
        written = line(style, exc_info=True)
        assert "the disk is full" in written
    assert "the disk is full" in line(style, exc_info=RuntimeError("the disk is full"))
