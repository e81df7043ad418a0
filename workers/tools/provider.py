"""What runs the tools of one entry of a request's `tools`: an MCP server, or a hosted tool.

The loop (`workers.rounds`) knows providers only: it offers their functions to the model, has the tool policies judge
each call when it is made, and tells what becomes of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Tool

Step = Callable[[str], None]
"""Hears that a call has come to a step (`searching`), which its receipt tells at once."""


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool that the model may call.

    `function` is the canonical function tool that it is offered as; the loop gives it another `name` where two tools
    have the same. `tool` is what policies judge it as. `wants_approval`: its request demands that each call be allowed
    by the client first.
    """

    function: Json
    tool: Tool
    wants_approval: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """How a call ended: its whole receipt (canonical type, no `id`), which is all that the model is told of it, and
    whether it failed. `citations` say what a mark in the model's words that follow refers to: mark → annotation without
    its place in the text.
    """

    receipt: Json
    has_failed: bool = False
    citations: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a provider may know of the response that it works for. `secrets` are the entry's own, opened."""

    tenant_id: UUID
    key_id: UUID
    response_id: str
    entry: Json
    secrets: Json = field(default_factory=dict, repr=False)


class Provider(Protocol):
    """Runs the tools of one entry, for one response. It may be used from one event loop only."""

    async def open(self, known: Sequence[Json] | None) -> Json | None:
        """Make ready. `known` are the tools as an earlier receipt of the conversation lists them: they need not be
        asked for again. Returns the receipt that tells what is offered, None where there is nothing to tell. What goes
        wrong is in the receipt (`error`): this raises nothing.
        """

    @property
    def offered(self) -> Sequence[Offered]:
        """What the model may call, once it is open; nothing where that failed."""

    def begun(self, offered: Offered, arguments: str) -> Json:
        """The receipt of a call that begins now: all fields, `status` "in_progress" where its type has one."""

    async def run(self, offered: Offered, arguments: str, tell: Step) -> Ran:
        """Run one call; calls may run side by side. What goes wrong with the tool is in the receipt: this raises
        nothing but `CancelledError`, after which the call goes on nowhere. It keeps the time that a call may take
        (`ANTIPHON_TOOL_SECONDS`): soon after it the loop cancels what still runs.
        """

    def refused(self, offered: Offered, arguments: str, why: str) -> Ran:
        """The receipt of a call that was not run: `why` is a sentence."""

    async def close(self) -> None:
        """Give back what it holds."""
