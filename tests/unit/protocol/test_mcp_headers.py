"""Which headers a client may have sent to an MCP server."""

import pytest

from responses_api.protocol.mcp_headers import is_header_name, is_header_value, is_own_header


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "Cookie", "x-mcp", "User-Agent"])
def test_headers_that_say_who_asks_are_the_clients(name: str) -> None:
    assert not is_own_header(name)
    assert is_header_name(name)


@pytest.mark.parametrize(
    "name", ["Host", "content-length", "MCP-Session-Id", "mcp-param-x", "Proxy-Authorization"]
)
def test_headers_that_the_protocols_need_are_not(name: str) -> None:
    assert is_own_header(name)


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\nb", "é", "a\x00"])
def test_what_is_no_name_of_a_header(name: str) -> None:
    assert not is_header_name(name)


@pytest.mark.parametrize("value", ["", " a", "a ", "a\r\nHost: b", "a\x00", "é", "\ta"])
def test_what_no_header_can_carry(value: str) -> None:
    assert not is_header_value(value)


@pytest.mark.parametrize("value", ["a", "Bearer a.b-c", "a\tb", "~!"])
def test_what_a_header_can_carry(value: str) -> None:
    assert is_header_value(value)
