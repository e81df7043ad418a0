"""Addresses of MCP servers: one meaning each, and no way round a pattern by writing one otherwise."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.server_urls import UrlError, read_pattern, read_url

GOOD = "https://mcp.good.example/tools"


def is_met(pattern: str, url: str) -> bool:
    return read_pattern(pattern).matches(read_url(url))


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("*", GOOD),
        ("https://mcp.good.example", GOOD),
        ("https://mcp.good.example/", GOOD),
        ("HTTPS://MCP.Good.Example", GOOD),
        ("https://mcp.good.example:443", GOOD),
        ("https://*.good.example", GOOD),
        ("https://*.example/*", GOOD),
        ("*://mcp.good.example/tools", GOOD),
        ("https://mcp.good.example/tool*", GOOD),
        ("https://*/tools", GOOD),
        ("https://mcp.good.example", "https://MCP.GOOD.EXAMPLE/tools"),
        ("https://mcp.good.example", "https://mcp.good.example./tools"),
        ("https://mcp.good.example", "https://mcp.good.example:443/tools"),
        ("https://mcp.good.example", "https://mcp.good.example:0443/tools"),
        ("https://mcp.good.example", "https://mcp.good.example"),
        ("https://mcp.good.example/tools", "https://mcp.good.example/%74ools"),
        ("https://mcp.good.example/tools", "https://mcp.good.example/tools?token=x&at=user@host"),
        ("https://mcp.good.example:*", "https://mcp.good.example:8443/x"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9/"),
        ("http://[::1]", "http://[0:0:0:0:0:0:0:1]/"),
        ("http://127.0.0.1", "http://[::ffff:127.0.0.1]/"),
    ],
)
def test_a_pattern_is_met_however_its_address_is_written(pattern: str, url: str) -> None:
    assert is_met(pattern, url)


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://good.example", "https://good.example.evil.example/"),
        ("https://good.example", "https://evilgood.example/"),
        ("https://good.example", "https://sub.good.example/"),
        ("https://*.good.example", "https://good.example/"),
        ("https://*.good.example", "https://evilgood.example/"),
        ("https://*.good.example", "https://evil.example/.good.example"),
        ("https://*.good.example", "https://evil.example?.good.example"),
        ("https://good.example", "http://good.example/"),
        ("https://good.example", "https://good.example:444/"),
        ("https://good.example/tools", "https://good.example/Tools"),
        ("https://good.example/tools", "https://good.example/tools/"),
        ("https://good.example/a%3Fb", "https://good.example/a?b"),
    ],
)
def test_a_pattern_is_not_met_by_what_only_looks_so(pattern: str, url: str) -> None:
    assert not is_met(pattern, url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "good.example",
        "//good.example",
        "ftp://good.example",
        "*://good.example",
        "https:/good.example",
        "https://",
        "https:///tools",
        "https://*.good.example",
        "https://good.example@evil.example/",
        "https://user:word@good.example/",
        "https://good.example:443@evil.example/",
        "https://good.example\\@evil.example/",
        "https://good.example\\.evil.example/",
        "https://good%2Eexample/",
        "https://good.example%00.evil.example/",
        "https://good.example:/",
        "https://good.example:0/",
        "https://good.example:70000/",
        "https://good.example:*/",
        "https://good..example/",
        "https://-good.example/",
        "https://göod.example/",
        "https://good.example。evil.example/",
        "https://good.example/#x",
        "https://good.example/a/../b",
        "https://good.example/a/%2e%2E/b",
        "https://good.example/./a",
        "https://good.example//a",
        "https://good.example/a%2Fb",
        "https://good.example/a%5cb",
        "https://good.example/a%252fb",
        "https://good.example/a%0a",
        "https://good.example/a%",
        "https://good.example/a%zz",
        "https://good.example/a b",
        " https://good.example/",
        "https://good.example/\n",
        "ht\ttps://good.example/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.0x1/",
        "http://[::1/",
        "http://::1/",
        "http://[fe80::1%25eth0]/",
        "https://" + "a" * 64 + ".example/",
        "https://good.example/" + "a" * 3000,
    ],
)
def test_an_address_that_readers_may_understand_differently_is_not_judged(url: str) -> None:
    with pytest.raises(UrlError):
        read_url(url)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "good.example",
        "https://good.example.*",
        "https://good.*",
        "https://*good.example",
        "https://a.*.example",
        "https://*.*.example",
        "https://**",
        "https://*.127.0.0.1",
        "https://*@good.example",
        "ht*://good.example",
        "https://good.example:4*",
        "https://good.example/?x=*",
        "https://good.example/../*",
        "https://good.example/%2F*",
    ],
)
def test_a_pattern_that_would_say_more_than_it_seems_is_refused(pattern: str) -> None:
    with pytest.raises(UrlError):
        read_pattern(pattern)


HOSTS = st.sampled_from(
    ["good.example", "evil.example", "a.good.example", "evilgood.example", "good.example.evil.example"]
)
PIECES = st.sampled_from(
    [
        "good.example",
        "evil.example",
        "@",
        ":",
        "443",
        ".",
        "/",
        "//",
        "%2e",
        "%2F",
        "\\",
        "?",
        "#",
        "*",
        "[",
        "]",
        "A",
    ]
)


@given(st.lists(PIECES, max_size=8))
def test_whatever_is_written_only_the_host_of_an_allowed_address_is_met(pieces: list[str]) -> None:
    written = "https://good.example" + "".join(pieces)
    try:
        url = read_url(written)
    except UrlError:
        return
    host = (urlsplit(written).hostname or "").removesuffix(".")
    patterns = ("https://*.good.example:*", "https://good.example:*")
    met = any(read_pattern(pattern).matches(url) for pattern in patterns)
    assert met is (host == "good.example" or host.endswith(".good.example"))


@given(HOSTS, st.sampled_from(["", ":443"]), st.booleans(), st.booleans())
def test_a_deny_is_not_got_round_by_case_dots_and_ports(
    host: str, port: str, is_upper: bool, is_dotted: bool
) -> None:
    written = (host.upper() if is_upper else host) + ("." if is_dotted else "")
    assert is_met(f"https://{host}", f"https://{written}{port}/mcp")


@given(st.text("ab/.%2eFf5c*~", max_size=12))
def test_reading_a_path_twice_changes_nothing(path: str) -> None:
    try:
        once = read_url(f"https://good.example/{path}")
    except UrlError:
        return
    assert read_url(f"https://good.example{once.path}") == once
