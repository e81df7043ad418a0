"""What the tests of this folder ask, and how they read what came of it."""

from responses_api.protocol.server_tools import MCP_CALL
from tests.support.abacus import server
from tests.support.chat import ToolCall
from tests.support.client import Json

TOOLS: list[Json] = [server()]


def call(name: str, a: int, b: int, call_id: str = "call_1") -> ToolCall:
    return ToolCall(name, f'{{"a": {a}, "b": {b}}}', call_id)


def add(a: int, b: int, call_id: str = "call_1") -> ToolCall:
    return call("add", a, b, call_id)


def receipts(response: Json) -> list[Json]:
    return [item for item in response["output"] if item["type"] == MCP_CALL]
