"""The keys of backends that are stored with them, sealed: put there, found, sealed anew.

No key leaves this module but by `key_of`, to a worker that is about to send it where its row says.
"""

from dataclasses import dataclass

from responses_api.models import Backend
from responses_api.sealing import SealError, open_backend_key, seal_backend_key
from tenants.scoping import operator_scope


class KeyLost(Exception):
    """There is no key that could be used; the message says why, without it."""


@dataclass(frozen=True, slots=True)
class Resealed:
    """What became of the stored keys, by the names of their backends."""

    anew: list[str]
    lost: list[str]


def store(backend: Backend, key: str) -> None:
    """Seal a key and keep it with a saved backend, in the place of one that was there."""
    backend.sealed_key = seal_backend_key(key, backend.pk)
    backend.save(update_fields=["sealed_key"])


def opens(backend: Backend) -> bool:
    """Whether the key that is stored with the backend can be used."""
    try:
        open_backend_key(backend.sealed_key, backend.pk)
    except SealError:
        return False
    return True


def key_of(name: str, base_url: str) -> str:
    """The key that is stored with the backend of this name, for the address that it is meant for.

    A job may have waited while its backend was moved: a key goes nowhere but where its row says now. Raises `KeyLost`.
    """
    with operator_scope():  # the rows are nobody's; the scope bounds the time of the query
        backend = Backend.objects.filter(name=name).only("base_url", "sealed_key").first()
    if backend is None or not backend.sealed_key:
        raise KeyLost("no key is stored with the backend any more")
    if backend.base_url.rstrip("/") != base_url.rstrip("/"):
        raise KeyLost("the backend has another address by now")
    try:
        return open_backend_key(backend.sealed_key, backend.pk)
    except SealError:
        raise KeyLost(
            "the stored key does not open: ANTIPHON_SEAL_KEYS has lost the key it was sealed under"
        ) from None


def reseal() -> Resealed:
    """Seal all stored keys under the newest of `ANTIPHON_SEAL_KEYS`, so that the older ones may go."""
    done = Resealed([], [])
    with operator_scope():
        for backend in Backend.objects.select_for_update().exclude(sealed_key="").order_by("name"):
            try:
                store(backend, open_backend_key(backend.sealed_key, backend.pk))
            except SealError:
                done.lost.append(backend.name)
            else:
                done.anew.append(backend.name)
    return done
