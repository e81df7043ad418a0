"""Addresses of clients: which networks an entry names, and where a request comes from when it passed through proxies.

An IPv4 address that is written as IPv6 (`::ffff:192.0.2.7`, what a socket for both tells) is the IPv4 address.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

UNIX_SOCKET: Final = "unix"
"""In `ANTIPHON_TRUSTED_PROXIES`: whoever connects by a unix socket, which has no address."""

_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_MOST_HOPS: Final = 50


@lru_cache(maxsize=4096)
def read_network(text: str) -> Network:
    """The network, or the network of one, that an entry names. Raises ValueError with a sentence."""
    try:
        network = ipaddress.ip_network(text.strip(), strict=True)
    except ValueError:
        raise ValueError(_what_is_wrong(text)) from None
    if isinstance(network, ipaddress.IPv6Network) and network.subnet_of(_MAPPED):
        plain = network.network_address.ipv4_mapped
        return ipaddress.IPv4Network((str(plain), network.prefixlen - _MAPPED.prefixlen))
    return network


def read_address(text: str) -> Address | None:
    """The address in an entry of a header: with a port, in brackets or plain. None for what is none."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def is_within(address: str | None, networks: Iterable[str]) -> bool:
    """Whether an address is in one of these networks. What has no address, or none that can be read, is in none."""
    found = read_address(address) if address is not None else None
    return found is not None and any(_holds(entry, found) for entry in networks)


def client_address(peer: str | None, forwarded: Sequence[str]) -> str | None:
    """Where a request comes from: its peer or, where that is a proxy we trust, who the proxies say it is.

    `peer` is None for a unix socket; `forwarded` are the `X-Forwarded-For` headers as they came. Each proxy adds whom
    it saw on the right, so the right-most address that is no proxy of ours counts: what stands left of it is the
    client's own word. None where the address cannot be known.
    """
    if not _is_trusted(peer):
        return peer
    hops = ",".join(forwarded).split(",") if forwarded else []
    for hop in reversed(hops[-_MOST_HOPS:]):
        address = read_address(hop)
        if address is None:
            return None
        peer = str(address)
        if not _is_trusted(peer):
            break
    return peer


def _is_trusted(peer: str | None) -> bool:
    proxies: list[str] = settings.TRUSTED_PROXIES
    if peer is None:
        return UNIX_SOCKET in proxies
    return bool(proxies) and is_within(peer, proxies)


def _holds(entry: str, address: Address) -> bool:
    try:
        network = read_network(entry)
    except ValueError:  # never trusted, and no address is within it; `manage.py check` and the forms name it
        return False
    return address.version == network.version and address in network


def _what_is_wrong(text: str) -> str:
    try:
        network = ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return f"'{text}' is neither an address (192.0.2.7, 2001:db8::1) nor a network (192.0.2.0/24, 2001:db8::/32)."
    return f"'{text}' has bits set beyond its prefix; the network is {network}."
