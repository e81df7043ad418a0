"""Tools for tests of the loop: a provider that really computes, and whose calls a test can hold, join and watch."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy, Tool
from responses_api.protocol.server_tools import MCP, MCP_CALL, MCP_LIST_TOOLS
from workers.tools.provider import Offered, Ran, Setting, Step

URL = "https://abacus.example/mcp"


def server(label: str = "abacus", **fields: Any) -> Json:
    """The entry of an abacus in a request's `tools`."""
    entry = {
        "type": MCP,
        "server_label": label,
        "server_url": URL,
        "server_description": None,
        "allowed_tools": None,
        "require_approval": "never",
    }
    return {**entry, **fields}


_NUMBERS: Json = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}


@dataclass
class Abacus:
    """The tools of one test, shared by its responses.

    `asked` are the labels whose tools were listed, `ran` the calls that were begun, by name and arguments, `ended` how
    each came out: `done` or `cancelled`. `policies` are in force from the moment on at which they are put there.
    `together` is how many calls of `meet` must have begun before any ends; `hold` waits until the test opens `gate`,
    and so does the list with `opens` "hold".
    """

    policies: Sequence[Policy] = ()
    together: int = 2
    names: Sequence[str] = ("add", "fail", "meet", "hold")
    error: str | None = None
    opens: str = "at once"
    ran: list[tuple[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    gate: threading.Event = field(default_factory=threading.Event)
    closed: int = 0
    _meeting: list["asyncio.Future[None]"] = field(default_factory=list)

    def provider(self, setting: Setting) -> "AbacusProvider":
        """The provider of one response."""
        self.settings.append(setting)
        return AbacusProvider(self, setting)

    async def run(self, name: str, arguments: str) -> str:
        """Run one call."""
        self.ran.append((name, arguments))
        self.begun.release()
        try:
            given: Any = orjson.loads(arguments)
            if name == "meet":
                await self._meet()
            elif name == "hold":
                await asyncio.to_thread(self.gate.wait, 10)
            self.ended.append("done")
            return str(given.get("a", 0) + given.get("b", 0))
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            self.gate.set()
            raise

    async def _meet(self) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._meeting.append(mine)
        if len(self._meeting) >= self.together:
            for waiting in self._meeting:
                waiting.set_result(None)
            self._meeting = []
        await mine


class AbacusProvider:
    """The abacus as a response has it."""

    def __init__(self, abacus: Abacus, setting: Setting) -> None:
        self._abacus = abacus
        self._setting = setting
        self._offered: list[Offered] = []

    async def open(self, known: Sequence[Json] | None) -> Json | None:
        """Offer everything, listing it where nobody has."""
        abacus, label = self._abacus, self._setting.entry["server_label"]
        listed = {"type": MCP_LIST_TOOLS, "server_label": label, "tools": [], "error": None}
        if known is None:
            abacus.asked.append(label)
        if abacus.opens == "hold":
            await asyncio.to_thread(abacus.gate.wait, 10)
        if abacus.error is not None:
            return {**listed, "error": abacus.error}
        self._offered = [self._offer(name) for name in abacus.names]
        if known is not None:
            return None
        tools = [
            {"name": name, "description": None, "input_schema": _NUMBERS, "annotations": None}
            for name in abacus.names
        ]
        return {**listed, "tools": tools}

    def _offer(self, name: str) -> Offered:
        function = {
            "type": "function",
            "name": name,
            "description": f"{name} two numbers",
            "parameters": _NUMBERS,
            "strict": None,
        }
        tool = Tool("mcp", name, self._setting.entry["server_url"])
        wants_approval = self._setting.entry["require_approval"] == "always"
        return Offered(function, tool, wants_approval)

    @property
    def offered(self) -> Sequence[Offered]:
        """What was opened."""
        return self._offered

    def begun(self, offered: Offered, arguments: str) -> Json:
        """A receipt that is open."""
        return self._receipt(offered, arguments, "in_progress")

    async def run(self, offered: Offered, arguments: str, tell: Step) -> Ran:
        """Compute."""
        name = offered.function["name"]
        output = await self._abacus.run(name, arguments)
        if name == "fail":
            return self.refused(offered, arguments, "The abacus fell over.")
        return Ran(self._receipt(offered, arguments, "completed", output=output))

    def refused(self, offered: Offered, arguments: str, why: str) -> Ran:
        """A receipt of what came to nothing."""
        return Ran(self._receipt(offered, arguments, "failed", error=why), has_failed=True)

    async def close(self) -> None:
        """Count it."""
        self._abacus.closed += 1

    def _receipt(self, offered: Offered, arguments: str, status: str, **fields: Any) -> Json:
        return {
            "type": MCP_CALL,
            "server_label": self._setting.entry["server_label"],
            "name": offered.function["name"],
            "arguments": arguments,
            "output": None,
            "error": None,
            "approval_request_id": None,
            "status": status,
            **fields,
        }
