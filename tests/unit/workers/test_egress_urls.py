"""A URL is read alike by the rules, which judge it, and by the client, which connects to what it reads."""

import httpx2
from hypothesis import example, given
from hypothesis import strategies as st

from responses_api.protocol.egress import EgressError, EgressRules, check_url

EVERYTHING = EgressRules(plain_http=True)
_HOSTS = (
    "a",
    "A",
    "b.example",
    ".",
    "..",
    "8.8.8.8",
    "[2606:4700::1111]",
    "[::ffff:8.8.8.8]",
    "[",
    "]",
    "xn--bcher-kva",
)
_ODD_HOSTS = ("ü", "。", "_", "-", "0x7f", "2130706433", "010.8.8.8")
_MARKS = (
    ":",
    ":443",
    ":080",
    ":65536",
    "@",
    "@10.0.0.1",
    "#",
    "?",
    "/",
    "//",
    "\\",
    "%",
    "%2e",
    "%40",
    "%00",
)
_PIECES = st.sampled_from([*_HOSTS, *_ODD_HOSTS, *_MARKS, *" \t\n\r&;*~!$"])


@given(
    st.sampled_from(["https://", "http://", "HTTPS://", "https:", "https:/"]), st.lists(_PIECES, max_size=8)
)
@example("https://", ["a.example", "#", "@10.0.0.1"])
@example("https://", ["a.example", "?", "@10.0.0.1"])
@example("https://", ["a.example", ":443", "@10.0.0.1"])
@example("https://", ["a.example", "\\", "@10.0.0.1"])
@example("https://", ["a.example", ".", ":080", "/", "//", "b.example"])
def test_what_the_rules_let_pass_the_client_reads_the_same(scheme: str, pieces: list[str]) -> None:
    url = scheme + "".join(pieces)
    try:
        judged = check_url(url, EVERYTHING)
    except EgressError:
        return
    try:
        read = httpx2.URL(url)
    except httpx2.InvalidURL:  # then nothing is asked
        return
    assert not read.userinfo
    assert check_url(f"{read.scheme}://{read.netloc.decode()}", EVERYTHING) == judged
