"""Where requests and policies may make this service connect to: the rules, and what they say of URLs and addresses.

Whoever can name a URL that a server fetches can have it speak to what only that server reaches: neighbours in a private
network, its own machine, the metadata of a cloud. So only public addresses may be reached, by https, and what the
operator allows. Names say nothing: what counts is the address that is connected to (`workers/egress`).
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from responses_api.protocol.patterns import ANY
from responses_api.protocol.server_urls import (
    ServerPattern,
    ServerUrl,
    UrlError,
    read_origin,
    read_pattern,
)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

NOWHERE: Final = "leads nowhere that may be reached from here"
"""One sentence for names that do not exist and for those that may not be reached: which it is, is nobody's business."""

_NOT_PLAIN: Final = "must begin with 'https://'"

# https://www.iana.org/assignments/iana-ipv4-special-registry, with the blocks for groups and for later.
_CLOSED_IPV4: Final = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' own (CGNAT)
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local; the metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# https://www.iana.org/assignments/ipv6-address-space: outside of this nothing is a public address of one machine.
_OPEN_IPV6: Final = ipaddress.IPv6Network("2000::/3")
_CLOSED_IPV6: Final = tuple(
    ipaddress.IPv6Network(block)
    for block in (
        "2001::/23",  # of protocols: Teredo, ORCHID, benchmarks
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address of any kind within
        "3fff::/20",
    )
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})
"""What an interface's id begins with that has an IPv4 address in its last 32 bits."""
_NOBODYS: Final = tuple(
    ipaddress.ip_network(block)
    for block in ("0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8")
)
"""Where no one server is: also a name that is allowed does not lead there."""


class EgressError(ValueError):
    """What may not be reached, or did not give what it should; the message completes "the address …".

    It is written for the client, and tells nothing of what is behind an address; `reason` is for the log alone.
    """

    def __init__(self, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class EgressRules:
    """What may be reached besides public addresses by https: `networks`, `hosts` by name, and with `plain_http` public
    addresses by http, too. What is allowed by name or network may be asked by http anyway.
    """

    networks: tuple[Network, ...] = ()
    hosts: tuple[ServerPattern, ...] = ()
    plain_http: bool = False

    def allows_host(self, url: ServerUrl) -> bool:
        """Whether the operator allows this host by its name, whatever its addresses."""
        return any(pattern.matches(url) for pattern in self.hosts)

    def allows_address(self, address: Address) -> bool:
        """Whether the operator allows this address."""
        return any(address.version == network.version and address in network for network in self.networks)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a URL connects to: `host` in its one form, without brackets, and its `address` where it is one.

    `is_allowed`: the operator allows it by name, so that its addresses are not judged.
    """

    scheme: str
    host: str
    port: int
    address: Address | None = None
    is_allowed: bool = False

    @property
    def origin(self) -> str:
        """Scheme, host and port, as a URL without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def read_rules(entries: Sequence[str], *, plain_http: bool = False) -> EgressRules:
    """Rules from the operator's entries: networks or addresses (`10.1.0.0/16`, `::1`), hosts (`mcp.internal`,
    `*.internal`, `mcp.internal:8080`). Raises `EgressError`, a sentence that names the entry.
    """
    networks: list[Network] = []
    hosts: list[ServerPattern] = []
    for entry in entries:
        network = _network(entry)
        if network is None:
            hosts.append(_host(entry))
        else:
            networks.append(network)
    return EgressRules(tuple(networks), tuple(hosts), plain_http)


def egress_mistakes(entries: Sequence[str]) -> list[str]:
    """What is wrong with the operator's entries, a sentence for each that is."""
    mistakes: list[str] = []
    for entry in entries:
        try:
            read_rules([entry])
        except EgressError as error:
            mistakes.append(str(error))
    return mistakes


def check_url(text: str, rules: EgressRules) -> Destination:
    """Where a URL connects to. Raises `EgressError` for one with more than one meaning, with a scheme that may not be,
    or with an address that may not be reached; what a name stands for is seen when it is resolved.
    """
    try:
        url = read_origin(text)
    except UrlError as error:
        raise EgressError(str(error)) from None
    host = url.host.strip("[]")
    address = _address(host)
    is_allowed = rules.allows_host(url)
    destination = Destination(url.scheme, host, int(url.port), address, is_allowed)
    if address is not None:
        check_address(address, rules, is_plain=url.scheme == "http", is_allowed=is_allowed)
    elif url.scheme == "http" and not (rules.plain_http or is_allowed or rules.networks):
        raise EgressError(_NOT_PLAIN)
    return destination


def check_address(
    address: Address, rules: EgressRules, *, is_plain: bool = False, is_allowed: bool = False
) -> Address:
    """The address to connect to: this one, or the IPv4 address that it is another way to write.

    `is_plain`: it is to be asked by http. `is_allowed`: its name is. Raises `EgressError`.
    """
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise EgressError(NOWHERE, f"{address} has a zone")
    if is_allowed and not _is_within(address, _NOBODYS):
        return address
    if rules.allows_address(address):
        # A translator for IPv6 leads to IPv4 addresses of every kind.
        if isinstance(address, ipaddress.IPv6Address) and address in _NAT64:
            check_address(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF), rules, is_plain=is_plain)
        return address
    if not is_public(address):
        raise EgressError(NOWHERE, f"{address} is not public")
    if is_plain and not rules.plain_http:
        raise EgressError(_NOT_PLAIN, f"{address} is public")
    return address


def is_public(address: Address) -> bool:
    """Whether this is the address of one machine that anybody on the internet reaches, in no other one's clothes."""
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not _is_within(address, _CLOSED_IPV4)
    return (
        address in _OPEN_IPV6
        and address.is_global
        and not _is_within(address, _CLOSED_IPV6)
        and (int(address) >> 32) & 0xFFFFFFFF not in _ISATAP
    )


def _is_within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _network(entry: str) -> Network | None:
    """The network that an entry names; None for what is none, but a host. Raises `EgressError`."""
    try:
        network = ipaddress.ip_network(entry)
    except ValueError:
        if "/" not in entry and _address(entry.strip("[]")) is None:
            return None
        raise EgressError(f"'{entry}' is no network: write it as 10.1.0.0/16 or 2001:db8::/32") from None
    if network.prefixlen == 0:
        raise EgressError(f"'{entry}' is every address: nothing would be guarded")
    if isinstance(network, ipaddress.IPv6Network) and network.subnet_of(_MAPPED):
        plain = network.network_address.ipv4_mapped
        return ipaddress.IPv4Network((str(plain), network.prefixlen - _MAPPED.prefixlen))
    return network


def _host(entry: str) -> ServerPattern:
    has_port = ":" in entry
    try:
        pattern = read_pattern(f"*://{entry}" if has_port else f"*://{entry}:*")
    except UrlError as error:
        raise EgressError(f"'{entry}' {error}") from None
    if pattern.host == ANY:
        raise EgressError(f"'{entry}' is every host: nothing would be guarded")
    return pattern
