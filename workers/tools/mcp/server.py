"""A server as a request names it: whose it is, where it is, and what it is shown of the client's secrets."""

import hashlib
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

import orjson

from responses_api.protocol.mcp_headers import is_header_name, is_header_value, is_own_header
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from workers.tools.mcp.failures import McpFailure
from workers.tools.provider import Setting

_KEY: Final = secrets.token_bytes(32)
# A shorter value is no secret, and stands in many a text by chance.
_SHORTEST_SECRET: Final = 8
_IN_ITS_PLACE: Final = "[secret]"

ServerKey = tuple[UUID, str, str]


@dataclass(frozen=True, slots=True)
class McpServer:
    """`url` is whole, query included; `headers` are sent with every request. Both may hold secrets."""

    tenant_id: UUID
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)

    @property
    def key(self) -> ServerKey:
        """What a connection is kept by. It differs by tenant and by credentials; these are not in it."""
        told = orjson.dumps([self.url, sorted(self.headers.items())])
        digest = hashlib.blake2b(told, key=_KEY, digest_size=32).hexdigest()
        return self.tenant_id, self.origin, digest

    @property
    def origin(self) -> str:
        """Scheme, host and port: what a log may tell of the address."""
        address = urlsplit(self.url)
        return f"{address.scheme}://{address.netloc.rpartition('@')[2]}"

    def without_secrets(self, text: str) -> str:
        """What the server said, without what the client told it in confidence: a receipt is stored."""
        for secret in sorted(set(self._secrets()), key=len, reverse=True):
            text = text.replace(secret, _IN_ITS_PLACE)
            text = text.replace(orjson.dumps(secret).decode()[1:-1], _IN_ITS_PLACE)
        return text

    def _secrets(self) -> Iterator[str]:
        query = urlsplit(self.url).query
        values = [*self.headers.values(), query, *(value for _, value in parse_qsl(query))]
        for value in values:
            # `Bearer …` and `Basic …`: what follows the scheme is the secret, wherever it stands.
            for secret in (value, value.partition(" ")[2]):
                if len(secret) >= _SHORTEST_SECRET:
                    yield secret


def server_of(setting: Setting) -> McpServer:
    """The server that an entry of a request's `tools` names. Raises `McpFailure` for headers that cannot be sent."""
    query = setting.secrets.get("query")
    url = setting.entry["server_url"] + (f"?{query}" if query else "")
    return McpServer(setting.tenant_id, url, _headers(setting.secrets))


def _headers(told: Json) -> dict[str, str]:
    """The headers by their names in lower case; `authorization` is the one of that name."""
    headers = {name.lower(): value for name, value in (told.get("headers") or {}).items()}
    if token := told.get("authorization"):
        headers["authorization"] = f"Bearer {token}"
    for name, value in headers.items():
        if is_own_header(name) or not is_header_name(name):
            raise McpFailure(f"cannot be asked: its 'headers' may not name '{quoted(name)}'.")
        if not is_header_value(value):
            raise McpFailure(
                f"cannot be asked: its header '{quoted(name)}' has no value that HTTP can carry."
            )
    return headers
