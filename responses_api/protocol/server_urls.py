"""The addresses of MCP servers, and patterns of them: read so strictly that one address cannot be written in two ways.

A policy that is got round by a capital letter or by `https://good.example@evil.example` is none. So an address that
different readers might understand differently is not judged at all: it is refused, whatever the rules say.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.patterns import ANY, matches

_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_FORM: Final = re.compile(
    r"(?P<scheme>[A-Za-z]+|\*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?"
)
_AUTHORITY: Final = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}|\*))?")
_ORIGIN: Final = re.compile(r"[A-Za-z]+://[^/?#]*")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ESCAPE: Final = re.compile(r"%(.{0,2})")
_VISIBLE: Final = re.compile(r"[!-~]+")
_LONGEST: Final = 2048
_LONGEST_OF_ALL: Final = 16_384
"""Of an address that only says where to connect to: signed ones carry whole tokens."""
_LONGEST_HOST: Final = 253
_HIGHEST_PORT: Final = 65535
# Escaped or not, these divide a path or are read twice by some server.
_TREACHEROUS: Final = frozenset("/\\%")
# Bare, these end the path: escaped, they stay so.
_KEPT_ESCAPED: Final = frozenset("?#*")


class UrlError(ValueError):
    """An address or a pattern that has no one meaning; the message completes "the address …"."""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """An address in its one form: lower-case host, the port written out, the path without needless escapes."""

    scheme: str
    host: str
    port: str
    path: str


@dataclass(frozen=True, slots=True)
class ServerPattern:
    """A pattern of addresses. `scheme` and `port` may be `*`, `path` is empty for every path."""

    scheme: str
    host: str
    port: str
    path: str

    def matches(self, url: ServerUrl) -> bool:
        """Whether the pattern speaks of this address."""
        port = self.port or _DEFAULT_PORTS[url.scheme]
        return (
            self.scheme in (ANY, url.scheme)
            and port in (ANY, url.port)
            and self._is_host(url.host)
            and (not self.path or matches(self.path, url.path))
        )

    def _is_host(self, host: str) -> bool:
        if self.host == ANY:
            return True
        if self.host.startswith("*."):
            return host.endswith(self.host[1:]) and host != self.host[1:]
        return host == self.host


def read_url(text: str) -> ServerUrl:
    """Read the address of a server. Raises `UrlError` for one that has no one meaning."""
    # What comes after the path says nothing of which server it is.
    scheme, host, port, path = _split(text, may_ask=True)
    if scheme not in _DEFAULT_PORTS:
        raise UrlError("must begin with 'https://' or 'http://'")
    if port == ANY:
        raise UrlError("has a port that is no number")
    return ServerUrl(scheme, _host(host), port or _DEFAULT_PORTS[scheme], _path(path) or "/")


def read_origin(text: str) -> ServerUrl:
    """Read where an address connects to; its path is `/`, whatever it was. Raises `UrlError` as `read_url`.

    For addresses of images and files, whose paths are their servers' own business.
    """
    if len(text) > _LONGEST_OF_ALL:
        raise UrlError(f"is longer than {_LONGEST_OF_ALL} characters")
    _refuse_unreadable(text)
    found = _ORIGIN.match(text)
    return read_url(found[0] if found else text[:_LONGEST])


def read_pattern(text: str) -> ServerPattern:
    """Read a pattern: `https://*.example.com/mcp/*`. Raises `UrlError`.

    `*` may stand for the whole scheme, for the whole host or for what comes before a name in it, for the whole port,
    and for anything in the path. Without a path, or with `/` alone, every path is meant; without a port the usual one.
    """
    if text == ANY:
        return ServerPattern(ANY, ANY, ANY, "")
    scheme, host, port, path = _split(text)
    if scheme not in (*_DEFAULT_PORTS, ANY):
        raise UrlError("must begin with 'https://', 'http://' or '*://'")
    whole = _path(path)
    return ServerPattern(scheme, _host_pattern(host), port, "" if whole == "/" else whole)


def _split(text: str, *, may_ask: bool = False) -> tuple[str, str, str, str]:
    """Scheme, host, port (or nothing) and path, each still as it was written but for the case of the first two."""
    if len(text) > _LONGEST:
        raise UrlError(f"is longer than {_LONGEST} characters")
    _refuse_unreadable(text)
    found = _FORM.fullmatch(text)
    if found is None:
        raise UrlError("must have the form 'https://host/path'")
    if "@" in found["authority"]:
        raise UrlError("must not have a user's name or password before its host")
    if found["fragment"] is not None or (found["query"] is not None and not may_ask):
        raise UrlError("must have no '#'" if may_ask else "must have neither '?' nor '#'")
    authority = _AUTHORITY.fullmatch(found["authority"])
    if authority is None:
        raise UrlError("must have a host and at most one port")
    return found["scheme"].lower(), authority["host"].lower(), _port(authority["port"]), found["path"]


def _refuse_unreadable(text: str) -> None:
    if not _VISIBLE.fullmatch(text) or "\\" in text:
        raise UrlError(
            "may have visible ASCII characters only, and no backslash; write a host's name as 'xn--…'"
        )


def _port(text: str | None) -> str:
    if text is None or text == ANY:
        return text or ""
    if not 0 < int(text) <= _HIGHEST_PORT:
        raise UrlError(f"must have a port from 1 to {_HIGHEST_PORT}")
    return str(int(text))


def _host_pattern(text: str) -> str:
    if text == ANY:
        return text
    wild, name = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    if ANY in name:
        # `good.example.*` would be met by `good.example.evil.com`.
        raise UrlError("may have a '*' in its host only as the whole host or in front, as in '*.example.com'")
    host = _host(name)
    if wild and _is_address(host):
        raise UrlError("may not have a '*' in front of an IP address")
    return wild + host


def _host(text: str) -> str:
    """A host in its one form. Raises `UrlError`."""
    if text.startswith("["):
        return _ipv6(text[1:-1])
    name = text.removesuffix(".")
    labels = name.split(".")
    if len(name) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlError("must have a host of letters, digits, '-' and '.', without escapes")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(name)
    return name


def _ipv4(text: str) -> str:
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise UrlError(
            "has a host that is neither a name nor an IPv4 address of four decimal numbers"
        ) from None


def _ipv6(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise UrlError("has a host in brackets that is no IPv6 address") from None
    if address.scope_id is not None:
        raise UrlError("must not have a zone in its IPv6 address")
    return str(address.ipv4_mapped or f"[{address.compressed}]")


def _is_address(host: str) -> bool:
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def _path(text: str) -> str:
    """A path in its one form. Raises `UrlError` where servers would differ about it."""
    path = _ESCAPE.sub(_unescaped, text)
    inner = path.split("/")[1:-1]
    if "" in inner or {".", ".."}.intersection(path.split("/")):
        raise UrlError("must have a path without '.', '..' and empty steps, escaped or not")
    return path


def _unescaped(found: re.Match[str]) -> str:
    try:
        code = int(found[1], 16) if re.fullmatch(r"[0-9A-Fa-f]{2}", found[1]) else -1
    except ValueError:
        code = -1
    if code < 0:
        raise UrlError("has a '%' that begins no escape")
    letter = chr(code)
    if letter in _TREACHEROUS or code < 32 or code == 127:
        raise UrlError("must not have '/', '\\', '%' or control characters as escapes")
    if "!" <= letter <= "~" and letter not in _KEPT_ESCAPED:
        return letter
    return f"%{code:02X}"
