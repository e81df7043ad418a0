"""A server that the user named and that does not answer is named back, in one sentence, without its password."""

import os
from collections.abc import Callable

import pytest

from config.local.errors import LocalError
from config.local.outside import check_broker, check_database, check_valkey


@pytest.mark.parametrize(
    ("check", "url", "words"),
    [
        (check_database, "postgres://me:hush@127.0.0.1:9/db", "DATABASE_URL names a database"),
        (check_database, "nonsense", "DATABASE_URL names a database"),
        (check_valkey, "redis://:hush@127.0.0.1:9/0", "VALKEY_URL names a server"),
        (check_valkey, "nonsense", "VALKEY_URL names a server"),
        (check_broker, "amqp://me:hush@127.0.0.1:9//", "CELERY_BROKER_URL names a broker"),
        (check_broker, "nonsense://127.0.0.1", "nonsense is no transport"),
    ],
)
def test_what_does_not_answer_is_named(check: Callable[[str], None], url: str, words: str) -> None:
    with pytest.raises(LocalError, match=words) as raised:
        check(url)
    assert "hush" not in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_what_answers_passes() -> None:
    check_database(os.environ["DATABASE_URL"])
    check_valkey(os.environ["VALKEY_URL"])
    check_broker(os.environ["VALKEY_URL"])
