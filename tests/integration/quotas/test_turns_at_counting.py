"""While one process makes a tenant's counters the others wait for it, and hold no thread that is needed meanwhile."""

import threading
import time

from responses_api.quotas import rebuilding
from responses_api.quotas.counters import check_of, needed
from responses_api.quotas.reading import by_counters
from tenants.models import Tenant
from tests.integration.quotas.conftest import SetLimit


def test_who_comes_second_makes_no_counters_and_holds_no_thread(
    friend_tenant: Tenant, set_limit: SetLimit
) -> None:
    limit, at = set_limit("tokens_per_day", 100), int(time.time())
    letters = needed([check_of(limit)])
    held = rebuilding.begin(friend_tenant.id, "the first")
    assert held is not None
    began = time.monotonic()
    assert not rebuilding.rebuild(friend_tenant.id, letters, at)
    assert time.monotonic() - began < rebuilding.LOCK_SECONDS / 2, "it waited for the first"
    looked = rebuilding.look(friend_tenant.id, letters, at, held)
    assert rebuilding.finish(friend_tenant.id, "the first", letters, looked)


def test_who_reads_meanwhile_reads_what_the_first_has_made(
    friend_tenant: Tenant, set_limit: SetLimit
) -> None:
    limit, at = set_limit("tokens_per_day", 100), int(time.time())
    letters = needed([check_of(limit)])
    held = rebuilding.begin(friend_tenant.id, "the first")
    assert held is not None
    looked = rebuilding.look(friend_tenant.id, letters, at, held)
    is_first: list[bool] = []

    def finish() -> None:
        is_first.append(rebuilding.finish(friend_tenant.id, "the first", letters, looked))

    first = threading.Timer(0.1, finish)
    first.start()
    assert by_counters(friend_tenant.id, [limit], at)[limit.id].used == 0
    first.join()
    assert is_first == [True]
