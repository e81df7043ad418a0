"""What may be reached: every way to write an address that is not public, and what the operator allows."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.egress import (
    Address,
    EgressError,
    EgressRules,
    check_address,
    check_url,
    egress_mistakes,
    is_public,
    read_rules,
)

NOTHING = EgressRules()
PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
]
IPV6 = [
    "::",
    "::1",
    "::7f00:1",
    "::8.8.8.8",
    "::ffff:0:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:808:808::1",
    "2a00:1450::5efe:10.0.0.1",
    "2a00:1450::200:5efe:10.0.0.1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]
CLOSED = [*PRIVATE, *(f"[{text}]" for text in IPV6), *(f"[::ffff:{text}]" for text in PRIVATE)]
OPEN = ["8.8.8.8", "93.184.215.14", "[2606:4700::1111]", "[2a00:1450::8]", "[::ffff:8.8.8.8]"]
EVERYTHING_OR_NOTHING = [
    "0.0.0.0/0",
    "::/0",
    "*",
    "10.1.2.3/8",
    "a/b",
    "[::1]",
    "a b",
    "http://a",
    "a:b",
    "a.*",
]


def refused(url: str, rules: EgressRules = NOTHING) -> str:
    with pytest.raises(EgressError) as caught:
        check_url(url, rules)
    return str(caught.value)


def is_refused(address: Address, rules: EgressRules = NOTHING) -> bool:
    try:
        check_address(address, rules)
    except EgressError:
        return True
    return False


@pytest.mark.parametrize(
    "address", [*PRIVATE, *(f"[{text}]" for text in IPV6), *(f"[::ffff:{text}]" for text in PRIVATE)]
)
def test_an_address_that_is_not_public_is_refused_and_not_repeated(address: str) -> None:
    message = refused(f"https://{address}/x")
    assert message == "leads nowhere that may be reached from here"


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "93.184.215.14", "[2606:4700::1111]", "[2a00:1450::8]", "[::ffff:8.8.8.8]"],
)
def test_a_public_address_may_be_reached_by_https_alone(address: str) -> None:
    assert check_url(f"https://{address}/x", NOTHING).address is not None
    assert refused(f"http://{address}/x") == "must begin with 'https://'"
    assert check_url(f"http://{address}/x", EgressRules(plain_http=True)).scheme == "http"


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_however_ipv6_writes_it(address: ipaddress.IPv4Address) -> None:
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    assert is_refused(mapped) == is_refused(address) == (not is_public(address))


@given(st.ip_addresses(v=4), st.sampled_from(["::", "64:ff9b::", "2002::", "::ffff:0:0"]))
def test_no_translation_of_an_ipv4_address_is_public(address: ipaddress.IPv4Address, prefix: str) -> None:
    at = 80 if prefix == "2002::" else 0
    inside = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | int(address) << at)
    if inside.ipv4_mapped is None:
        assert is_refused(inside)


@given(st.ip_addresses())
def test_nothing_is_public_that_the_registries_call_private(address: Address) -> None:
    """The standard library's word is the other witness: neither is ever laxer than the other."""
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=4), st.integers(min_value=1, max_value=32))
def test_what_is_allowed_is_exactly_the_network(address: ipaddress.IPv4Address, prefix: int) -> None:
    network = ipaddress.ip_network((int(address), prefix), strict=False)
    rules = read_rules([str(network)])
    assert not is_refused(address, rules)
    beyond = ipaddress.IPv4Address((int(network.broadcast_address) + 1) % (1 << 32))
    assert is_refused(beyond, rules) == (not is_public(beyond))


def test_a_translator_that_is_allowed_leads_to_public_addresses_only() -> None:
    rules = read_rules(["64:ff9b::/96"])
    assert not is_refused(ipaddress.ip_address("64:ff9b::8.8.8.8"), rules)
    assert is_refused(ipaddress.ip_address("64:ff9b::10.0.0.1"), rules)


def test_an_address_with_a_zone_is_refused_even_where_its_network_is_allowed() -> None:
    assert is_refused(ipaddress.ip_address("fe80::1%eth0"), read_rules(["fe80::/10"]))


def test_a_host_that_is_allowed_may_be_anywhere_but_nowhere() -> None:
    rules = read_rules(["mcp.internal", "*.lan", "only.example:8080"])
    assert check_url("http://mcp.internal:99/x", rules).is_allowed
    assert check_url("http://MCP.internal./", rules).is_allowed
    assert check_url("http://a.b.lan/", rules).is_allowed
    assert check_url("http://only.example:8080/", rules).is_allowed
    for url in (
        "http://only.example/",
        "http://lan/",
        "http://evil-mcp.internal/",
        "http://mcp.internal.evil/",
    ):
        assert refused(url) == "must begin with 'https://'"
    inside, nobody = ipaddress.ip_address("10.0.0.1"), ipaddress.ip_address("0.0.0.0")
    assert check_address(inside, rules, is_plain=True, is_allowed=True) == inside
    with pytest.raises(EgressError):
        check_address(nobody, rules, is_allowed=True)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("file:///etc/passwd", "must begin with 'https://' or 'http://'"),
        ("gopher://a.example/", "must begin with 'https://' or 'http://'"),
        ("ftp://a.example/", "must begin with 'https://' or 'http://'"),
        ("//a.example/", "must have the form 'https://host/path'"),
        ("data:text/plain,x", "must have the form 'https://host/path'"),
        ("", "may have visible ASCII characters only"),
        ("https://user@a.example/", "must not have a user's name or password"),
        ("https://a.example@10.0.0.1/", "must not have a user's name or password"),
        ("https://a.example\\@10.0.0.1/", "no backslash"),
        ("https://a.example:0/", "must have a port from 1 to 65535"),
        ("https://a.example:65536/", "must have a port from 1 to 65535"),
        ("https://a.example:x/", "must have a host and at most one port"),
        ("https://bücher.example/", "write a host's name as 'xn--…'"),
        ("https://①.example/", "write a host's name as 'xn--…'"),
        ("https://a%2eexample/", "without escapes"),
        ("https://2130706433/", "neither a name nor an IPv4 address of four decimal numbers"),
        ("https://0x7f.1/", "neither a name nor an IPv4 address of four decimal numbers"),
        ("https://017700000001/", "neither a name nor an IPv4 address of four decimal numbers"),
        ("https://127.0.0.1.nip/?a\n", "may have visible ASCII characters only"),
        ("https://[fe80::1%25eth0]/", "must not have a zone"),
        ("https:///x", "must have a host"),
        ("https://" + "a" * 20_000, "is longer than"),
    ],
)
def test_what_has_more_than_one_meaning_or_another_scheme_is_refused(url: str, says: str) -> None:
    assert says in refused(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://xn--bcher-kva.example/",
        "https://a.example./b//c/%2F/../x?y=1&z=%00#here",
        "https://a.example?x@y",
        "https://a.example#x@y",
        "HTTPS://A.EXAMPLE:443/" + "x" * 5000,
    ],
)
def test_a_path_is_its_servers_own_business(url: str) -> None:
    found = check_url(url, NOTHING)
    assert found.host.endswith(".example")
    assert found.port == 443


def test_an_origin_is_a_url_again() -> None:
    for url in ("https://a.example:8443", "https://[2606:4700::1111]:443", "https://8.8.8.8:443"):
        assert check_url(url, NOTHING).origin == url
        assert check_url(check_url(url, NOTHING).origin, NOTHING) == check_url(url, NOTHING)


@given(st.text(max_size=60))
def test_anything_is_either_understood_or_refused(text: str) -> None:
    for url in (text, f"https://{text}", f"https://a.example{text}"):
        try:
            found = check_url(url, NOTHING)
        except EgressError:
            continue
        assert found.scheme == "https"
        assert 0 < found.port < 65536


@pytest.mark.parametrize("entry", EVERYTHING_OR_NOTHING)
def test_an_entry_that_allows_nothing_or_everything_is_named(entry: str) -> None:
    mistakes = egress_mistakes(["10.0.0.0/8", entry, "mcp.internal"])
    assert len(mistakes) == 1
    assert f"'{entry}'" in mistakes[0]


def test_a_network_of_ipv4_written_as_ipv6_is_that_network() -> None:
    rules = read_rules(["::ffff:10.0.0.0/104"])
    assert not is_refused(ipaddress.ip_address("10.1.2.3"), rules)
