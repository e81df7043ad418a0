"""When a key was last used: noted in memory, written in batches, at most once a minute for each key."""

import threading
import time
import uuid
from datetime import timedelta
from typing import Final

from django.db.models import Q
from django.utils import timezone

from tenants.models import ApiKey
from tenants.scoping import operator_scope

EVERY_SECONDS: Final = 60.0
_MOST_KNOWN: Final = 10_000

_written: dict[uuid.UUID, float] = {}
"""When this process wrote, or let be written, the last use of a key."""
_pending: set[uuid.UUID] = set()
_lock: Final = threading.Lock()


def note_use(key_id: uuid.UUID) -> None:
    """A key was used now. Touches memory alone."""
    now = time.monotonic()
    if now - _written.get(key_id, float("-inf")) < EVERY_SECONDS:
        return
    with _lock:
        if len(_written) >= _MOST_KNOWN:
            _written.clear()
        _written[key_id] = now
        _pending.add(key_id)


def has_uses() -> bool:
    """Whether there is something to write."""
    return bool(_pending)


def write_uses() -> int:
    """Write what was noted since the last time; returns for how many keys. Blocks: for threads.

    Where the database does not answer it is kept for the next time, and the database's error raised.
    """
    with _lock:
        key_ids = set(_pending)
        _pending.clear()
    try:
        return _write(key_ids) if key_ids else 0
    except BaseException:
        with _lock:
            _pending.update(key_ids)
        raise


def _write(key_ids: set[uuid.UUID]) -> int:
    now = timezone.now()
    is_old = Q(last_used_at=None) | Q(last_used_at__lt=now - timedelta(seconds=EVERY_SECONDS))
    with operator_scope():
        # What another process is writing just now need not be written again, and must not be waited for.
        due = ApiKey.objects.select_for_update(skip_locked=True, no_key=True).filter(is_old, id__in=key_ids)
        return int(
            ApiKey.objects.filter(id__in=list(due.values_list("id", flat=True))).update(last_used_at=now)
        )
