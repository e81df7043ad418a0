"""Hosted tools: what one is to its author, and how the loop runs it.

A tool raises `ToolError` with a sentence for what went wrong; its receipt says so, and the model is told. What else it
raises is a fault of the tool: it is logged, and the receipt says no more than that it failed.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson
import structlog
from django.conf import settings

from responses_api.protocol.hosted import Declaration
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Tool
from workers.tools.arguments import read_arguments
from workers.tools.provider import Offered, Ran, Setting, Step

log = structlog.get_logger(__name__)


class ToolError(Exception):
    """A call that could not be done; its text, a sentence, is for the model and the client."""


@dataclass(frozen=True, slots=True)
class HostedCall:
    """One call: the entry of the request's `tools` that it is of, what the model wrote as its arguments, whose
    response it is made in (`setting`), and what hears which step it has come to.
    """

    entry: Json
    arguments: Json
    setting: Setting
    tell: Step


@dataclass(frozen=True, slots=True)
class HostedResult:
    """What came of a call: the fields of its receipt beside `type`, `id`, `status` and `error`. What the model is told
    of it, and may cite, the tool's declaration makes of the receipt.
    """

    fields: Json = field(default_factory=dict)


class HostedTool(ABC):
    """A tool that the service runs. One object serves every response of the process, several at a time."""

    declaration: Declaration

    def begun(self, arguments: Json) -> Json:
        """The fields of a receipt when its call begins: all that there will be, beside `type`, `id`, `status` and
        `error`. `arguments` are {} where the model wrote what is no object.
        """
        return {"arguments": orjson.dumps(arguments).decode(), "output": None}

    @abstractmethod
    async def run(self, call: HostedCall) -> HostedResult:
        """Do what is asked, on the event loop: what blocks goes into a thread. Raises `ToolError`."""


class HostedProvider:
    """The provider of one entry of a hosted tool. See `workers.tools.provider.Provider`."""

    def __init__(self, tool: HostedTool, setting: Setting) -> None:
        self._tool = tool
        self._setting = setting
        declaration = tool.declaration
        function = declaration.function(setting.entry)
        self.offered: Sequence[Offered] = (Offered(function, Tool("hosted", declaration.type)),)
        """What the model may call."""

    async def open(self, known: Sequence[Json] | None) -> Json | None:
        """There is nothing to ask for, and nothing to tell."""
        return None

    def begun(self, offered: Offered, arguments: str) -> Json:
        """The receipt of a call that begins now."""
        return self._receipt("in_progress", self._begun(read_arguments(arguments) or {}))

    async def run(self, offered: Offered, arguments: str, tell: Step) -> Ran:
        """Run one call. Raises nothing but `CancelledError`."""
        read = read_arguments(arguments)
        if read is None:
            return self._failed({}, "The arguments are not a JSON object.")
        try:
            async with asyncio.timeout(settings.TOOL_SECONDS) as limit:
                result = await self._tool.run(HostedCall(self._setting.entry, read, self._setting, tell))
            return self._done({**self._begun(read), **result.fields})
        except ToolError as error:
            return self._failed(read, str(error))
        except Exception as error:
            if limit.expired():
                return self._failed(read, f"The tool took longer than {settings.TOOL_SECONDS:g} seconds.")
            self._log("a hosted tool failed", error)
            return self._failed(read, "The tool failed.")

    def refused(self, offered: Offered, arguments: str, why: str) -> Ran:
        """The receipt of a call that was not run."""
        return self._failed(read_arguments(arguments) or {}, why)

    async def close(self) -> None:
        """It holds nothing."""

    def _begun(self, arguments: Json) -> Json:
        try:
            return self._tool.begun(arguments)
        except Exception as error:
            self._log("a hosted tool has no receipt for the arguments of its call", error)
            return HostedTool.begun(self._tool, arguments)

    def _done(self, fields: Json) -> Ran:
        """Raises what the tool's declaration does for a receipt that it cannot read."""
        receipt = self._receipt("completed", fields)
        if len(orjson.dumps(receipt)) > settings.MAX_TOOL_RESULT_BYTES:
            raise ToolError(f"What the tool returned is larger than {settings.MAX_TOOL_RESULT_BYTES} bytes.")
        self._tool.declaration.replayed(receipt)
        return Ran(receipt, citations=self._tool.declaration.citations(receipt))

    def _failed(self, arguments: Json, error: str) -> Ran:
        return Ran(self._receipt("failed", self._begun(arguments), error), has_failed=True)

    def _receipt(self, status: str, fields: Json, error: str | None = None) -> Json:
        own = {"type": self._tool.declaration.receipt_type, "status": status}
        return {**own, **fields, **own, "error": error}

    def _log(self, event: str, error: Exception) -> None:
        # Without its text, which may quote what the model wrote.
        log.error(event, tool=self._tool.declaration.type, error=type(error).__name__)
