"""The keys of backends that are stored with them, sealed: put there, found, sealed anew.

A key is meant for one server: it goes nowhere else, also when its row is given another address. None leaves this module
but by `key_of`, to a worker that is about to send it there.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from responses_api.models import Backend
from responses_api.sealing import SealError, open_backend_key, seal_backend_key
from tenants import audit
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
    backend.sealed_key = seal_backend_key(key, backend_id=backend.pk, address=_server_of(backend.base_url))
    backend.save(update_fields=["sealed_key"])


def is_for(backend: Backend, base_url: str) -> bool:
    """Whether a key of this backend may be sent to this address, too: the server is the same."""
    return _server_of(backend.base_url) == _server_of(base_url)


def opens(backend: Backend) -> bool:
    """Whether the key that is stored with the backend can be used at the address that it has."""
    try:
        _open(backend)
    except SealError:
        return False
    return True


def key_of(name: str, base_url: str) -> str:
    """The key that is stored with the backend of this name, for the address that a job has for it.

    A job may have waited while its backend was moved elsewhere. Raises `KeyLost`.
    """
    with operator_scope():  # the rows are nobody's; the scope bounds the time of the query
        backend = Backend.objects.filter(name=name).only("base_url", "sealed_key").first()
    if backend is None or not backend.sealed_key:
        raise KeyLost("no key is stored with the backend any more")
    if _server_of(backend.base_url) != _server_of(base_url):
        raise KeyLost("the backend is at another server by now")
    try:
        return _open(backend)
    except SealError:
        raise KeyLost(
            "the stored key does not open: ANTIPHON_SEAL_KEYS lacks the key that it was sealed under, or the backend "
            "has another address than it was stored for"
        ) from None


def reseal() -> Resealed:
    """Seal all stored keys under the newest of `ANTIPHON_SEAL_KEYS`, so that the older ones may go."""
    done = Resealed([], [])
    with operator_scope():
        for backend in Backend.objects.select_for_update().exclude(sealed_key="").order_by("name"):
            try:
                store(backend, _open(backend))
            except SealError:
                done.lost.append(backend.name)
            else:
                done.anew.append(backend.name)
                audit.record("backend.resealed", backend.name, tenant_id=None)
    return done


def _open(backend: Backend) -> str:
    return open_backend_key(backend.sealed_key, backend_id=backend.pk, address=_server_of(backend.base_url))


def _server_of(base_url: str) -> str:
    """What of an address says who is there: `https://api.example.com`."""
    try:
        parts = urlsplit(base_url)
    except ValueError:  # no address at all, as the row's own rules say
        return ""
    return f"{parts.scheme}://{parts.netloc}".lower()
