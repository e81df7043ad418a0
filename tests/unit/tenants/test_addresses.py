"""Where a request comes from, and which networks an address is in."""

import re

import pytest
from pytest_django import Settings

from tenants.addresses import client_address, is_within, read_network

PROXIES = ["10.0.0.0/8", "2001:db8:ffff::/48"]


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.7", [], "192.0.2.7"),
        ("192.0.2.7", ["198.51.100.1"], "192.0.2.7"),  # a stranger's word
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.1"], "198.51.100.1"),  # the left one is the client's own word
        ("10.0.0.1", ["203.0.113.9", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["198.51.100.1, unknown"], None),
        ("10.0.0.1", ["198.51.100.1, "], None),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ['"[2001:db8::7]:4711"'], "2001:db8::7"),
        ("10.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("2001:db8:ffff::1", ["198.51.100.1"], "198.51.100.1"),
        (None, ["198.51.100.1"], None),
        (None, [], None),
    ],
)
def test_the_client_is_the_right_most_who_is_no_proxy_of_ours(
    peer: str | None, forwarded: list[str], client: str | None, settings: Settings
) -> None:
    settings.TRUSTED_PROXIES = PROXIES
    assert client_address(peer, forwarded) == client


def test_nobody_is_trusted_unless_told(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = []
    assert client_address("10.0.0.1", ["198.51.100.1"]) == "10.0.0.1"
    assert client_address("127.0.0.1", ["198.51.100.1"]) == "127.0.0.1"


def test_a_proxy_at_a_unix_socket_is_trusted_when_told(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = ["unix"]
    assert client_address(None, ["198.51.100.1"]) == "198.51.100.1"
    assert client_address(None, []) is None
    assert client_address("10.0.0.1", ["198.51.100.1"]) == "10.0.0.1"


def test_an_entry_that_cannot_be_read_trusts_nobody(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.1/8", "everybody"]
    assert client_address("10.0.0.1", ["198.51.100.1"]) == "10.0.0.1"


@pytest.mark.parametrize(
    ("address", "network", "is_in"),
    [
        ("192.0.2.7", "192.0.2.0/24", True),
        ("192.0.3.7", "192.0.2.0/24", False),
        ("192.0.2.7", "192.0.2.7", True),
        ("::ffff:192.0.2.7", "192.0.2.0/24", True),
        ("192.0.2.7", "::ffff:192.0.2.0/120", True),
        ("2001:db8::7", "2001:db8::/32", True),
        ("2001:db9::7", "2001:db8::/32", False),
        ("192.0.2.7", "2001:db8::/32", False),
        ("192.0.2.7", "::/0", False),
        ("nonsense", "0.0.0.0/0", False),
        (None, "0.0.0.0/0", False),
    ],
)
def test_an_address_is_within_a_network(address: str | None, network: str, is_in: bool) -> None:
    assert is_within(address, [network]) is is_in


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("192.0.2.7/24", "'192.0.2.7/24' has bits set beyond its prefix; the network is 192.0.2.0/24."),
        ("here", "'here' is neither an address"),
        ("192.0.2.7/33", "is neither an address"),
    ],
)
def test_what_is_no_network_is_named(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_network(text)
