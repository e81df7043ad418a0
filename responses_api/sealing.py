"""Sealed state: what the service hands to a client only to get it back, unread and unchanged; and what it keeps for
itself, the keys of backends and, while a response runs, what its tools need to get in elsewhere.

Protocol: "Reasoning, compaction: sealed state". A seal is authenticated encryption (AES-256-GCM) under a key of its
owner, a tenant or a backend, which is derived from one of `ANTIPHON_SEAL_KEYS`: the first seals, all open, and so does,
last of all, the one that is derived from `SECRET_KEY`. As text it is base64url of

    version (1 byte) | key id (4) | nonce (12) | ciphertext and tag

Another owner's seal, a tampered one, one under an unknown key and what never was one look alike: they do not open.
"""

import base64
import binascii
import hmac
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from responses_api.protocol.items import SealedType
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode, encode

_VERSION: Final = b"\x01"
_KEY_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12
_NONCE_FROM: Final = len(_VERSION) + _KEY_ID_BYTES
_HEAD_BYTES: Final = _NONCE_FROM + _NONCE_BYTES
_KEY_BYTES: Final = 32
_DAY_SECONDS: Final = 86_400
_BACKEND_KEY: Final = b"backend key for "
_TOOL_SECRETS: Final = b"tool secrets of "


class SealError(Exception):
    """Something does not open, or may no longer be used."""


class SealExpired(SealError):
    """It is ours and the tenant's own, but older than `ANTIPHON_SEAL_DAYS`."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What was sealed: `content`, where it came from (what the sealer said of it), and when, in unix seconds."""

    content: Any
    source: Json
    sealed_at: int

    def check_age(self) -> None:
        """Raise `SealExpired` if it is older than `ANTIPHON_SEAL_DAYS`, where that is a limit."""
        days = settings.SEAL_DAYS
        if days is not None and time.time() - self.sealed_at > days * _DAY_SECONDS:
            raise SealExpired


def seal(content: Any, *, item_type: SealedType, tenant_id: str, source: Json, at: int) -> str:
    """Seal plain JSON for a tenant, under the first key. `source` says where it came from, `at` when, in unix seconds.

    The same arguments make the same seal: a response that is generated again after its worker was lost tells the same.

    `item_type` is the item's that will carry it: one cannot be passed off as the other.
    """
    payload = encode({"at": at, "from": source, "content": content})
    return _sealed(payload, f"tenant {tenant_id}", item_type.encode())


def open_seal(text: str, *, item_type: SealedType, tenant_id: str) -> Opened:
    """Open what was sealed for this type of item and this tenant, however old. Raises `SealError` for all else."""
    payload = decode(_unsealed(text, f"tenant {tenant_id}", item_type.encode()))
    return Opened(payload["content"], payload["from"], payload["at"])


def seal_backend_key(key: str, *, backend_id: int, address: str) -> str:
    """Seal a backend's key, under the first key, to its row and to the server that it is meant for: in another row, or
    for another server, it does not open.
    """
    return _sealed(key.encode(), f"backend {backend_id}", _BACKEND_KEY + address.encode())


def open_backend_key(text: str, *, backend_id: int, address: str) -> str:
    """Open the key of this backend for this server. Raises `SealError` for all else."""
    return _unsealed(text, f"backend {backend_id}", _BACKEND_KEY + address.encode()).decode()


def seal_tool_secrets(secrets: Json, *, tenant_id: str, response_id: str) -> str:
    """Seal what a request's tools need to get in elsewhere, under the first key, to its tenant and its response: for
    another one it does not open.
    """
    return _sealed(encode(secrets), f"tenant {tenant_id}", _TOOL_SECRETS + response_id.encode())


def open_tool_secrets(text: str, *, tenant_id: str, response_id: str) -> Json:
    """Open the secrets of this response's tools. Raises `SealError` for all else."""
    secrets: Json = decode(_unsealed(text, f"tenant {tenant_id}", _TOOL_SECRETS + response_id.encode()))
    return secrets


def _sealed(payload: bytes, owner: str, purpose: bytes) -> str:
    secret = _secrets()[0]
    head = _VERSION + _key_id(secret)
    bound = _bound(purpose, head)
    # Another content has another nonce, as surely as if it were a random one.
    key = _derived(secret, f"nonces of {owner}")
    nonce = hmac.digest(key, bound + payload, "sha256")[:_NONCE_BYTES]
    return _to_text(head + nonce + _cipher(secret, owner).encrypt(nonce, payload, bound))


def _unsealed(text: str, owner: str, purpose: bytes) -> bytes:
    raw = _from_text(text)
    head, nonce, sealed = raw[:_HEAD_BYTES], raw[_NONCE_FROM:_HEAD_BYTES], raw[_HEAD_BYTES:]
    if len(nonce) != _NONCE_BYTES or head[:1] != _VERSION:
        raise SealError
    for secret in _secrets():
        if head[1:_NONCE_FROM] != _key_id(secret):
            continue
        try:
            return _cipher(secret, owner).decrypt(nonce, sealed, _bound(purpose, head))
        except InvalidTag:
            continue
    raise SealError


def _secrets() -> tuple[bytes, ...]:
    """All keys, the one that seals first."""
    return (*settings.SEAL_KEYS, _derived(settings.SECRET_KEY.encode(), "sealing without ANTIPHON_SEAL_KEYS"))


@lru_cache(maxsize=64)
def _key_id(secret: bytes) -> bytes:
    return _derived(secret, "key id")[:_KEY_ID_BYTES]


@lru_cache(maxsize=1024)
def _cipher(secret: bytes, owner: str) -> AESGCM:
    """The owner's own cipher. Its nonces are good for 2**32 seals under a key: an owner's, not everybody's."""
    return AESGCM(_derived(secret, owner))


@lru_cache(maxsize=1024)
def _derived(secret: bytes, info: str) -> bytes:
    return HKDF(SHA256(), _KEY_BYTES, salt=None, info=b"antiphon " + info.encode()).derive(secret)


def _bound(purpose: bytes, head: bytes) -> bytes:
    """What is authenticated beside the content."""
    return purpose + head[:_NONCE_FROM]


def _to_text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _from_text(text: str) -> bytes:
    """The bytes of base64url. A spelling that we would not have chosen is no seal of ours, whatever it decodes to."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise SealError from None
    if _to_text(raw) != text:
        raise SealError
    return raw
