"""The tools that the service runs for one response: their providers, opened side by side, and what the model knows each
of them by.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import MCP_LIST_TOOLS, canonical_type
from workers.tools.naming import function_names
from workers.tools.provider import Offered, Provider, Setting

log = structlog.get_logger(__name__)

MakeProvider = Callable[[Setting], Provider]
Makers = Mapping[str, MakeProvider]
"""What makes the provider of an entry, by the entry's type."""

_CLOSE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Served:
    """One tool that the service runs: `name` is the function that the model calls, `label` its entry's (an MCP
    server's label, a hosted tool's type).
    """

    name: str
    label: str
    entry: Json
    provider: Provider
    offered: Offered

    @property
    def own_name(self) -> str:
        """What receipts name it by: an MCP tool by its server's name for it, a hosted one by its function's."""
        tool = self.offered.tool
        return tool.name if tool.kind == "mcp" else str(self.offered.function["name"])

    @property
    def function(self) -> Json:
        """The function as the model is offered it."""
        return {**self.offered.function, "name": self.name}


class Toolbox:
    """The providers of a request's entries, in their order. `tools` are empty until it is open."""

    def __init__(self, entries: Sequence[tuple[Json, Provider]], taken: Iterable[str]) -> None:
        self.tools: Mapping[str, Served] = {}
        """By the names that the model knows them by."""
        self.unreachable: list[str] = []
        """The labels of the servers whose tools could not be listed."""
        self.types = frozenset(entry["type"] for entry, _ in entries)
        """The types of the entries."""
        self._entries = entries
        self._taken = frozenset(taken)

    @property
    def names(self) -> Mapping[tuple[str, str], str]:
        """What the model knows a tool by, by its label and its own name: for receipts that are replayed."""
        return {(tool.label, tool.own_name): tool.name for tool in self.tools.values()}

    def find(self, label: str, own_name: str) -> Served | None:
        """The tool of a label by its own name."""
        name = self.names.get((label, own_name))
        return None if name is None else self.tools[name]

    async def open(self, context: Sequence[Json], seconds: float) -> list[Json]:
        """Open all providers, each in so many seconds at most; returns the receipts that tell what they offer, in the
        order of the entries.

        A server whose tools the conversation lists already is not asked for them again.
        """
        async with asyncio.TaskGroup() as group:
            opening = [
                group.create_task(_open(entry, provider, context, seconds))
                for entry, provider in self._entries
            ]
        receipts = [task.result() for task in opening]
        self._take_in()
        self.unreachable = [
            label_of(entry)
            for (entry, _), receipt in zip(self._entries, receipts, strict=True)
            if receipt is not None and receipt.get("error")
        ]
        return [receipt for receipt in receipts if receipt is not None]

    async def close(self) -> None:
        """Give back what the providers hold. One that takes too long, or fails, keeps nobody from the end."""
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.gather(*(_close(entry, provider) for entry, provider in self._entries))
        except TimeoutError:
            log.warning(
                "tools took too long to be closed", labels=[label_of(entry) for entry, _ in self._entries]
            )

    def _take_in(self) -> None:
        found = [
            (entry, provider, offered) for entry, provider in self._entries for offered in provider.offered
        ]
        names = function_names(
            [(label_of(entry), str(offered.function["name"])) for entry, _, offered in found], self._taken
        )
        self.tools = {
            name: Served(name, label_of(entry), entry, provider, offered)
            for name, (entry, provider, offered) in zip(names, found, strict=True)
        }


def toolbox_of(job: Job, makers: Makers, secrets: Mapping[int, Json]) -> Toolbox:
    """The toolbox of a job: a provider for each entry of its tools that `makers` know, with its `secrets` (by its place
    among the tools).
    """
    tools: Sequence[Json] = job.request["tools"]
    entries = [
        (entry, makers[entry["type"]](_setting(job, entry, secrets.get(place, {}))))
        for place, entry in enumerate(tools)
        if entry["type"] in makers
    ]
    return Toolbox(entries, (tool["name"] for tool in tools if tool["type"] == "function"))


def has_served_tools(request: Json, makers: Makers) -> bool:
    """Whether a request has tools that the service runs."""
    return any(tool["type"] in makers for tool in request["tools"])


def label_of(entry: Json) -> str:
    """What receipts name an entry by."""
    return str(entry.get("server_label") or entry["type"])


def _setting(job: Job, entry: Json, secrets: Json) -> Setting:
    return Setting(UUID(job.tenant_id), UUID(job.key_id), job.response_id, entry, secrets)


def _known(entry: Json, context: Sequence[Json]) -> Sequence[Json] | None:
    """The tools of a server as the conversation lists them last; None where it does not."""
    for item in reversed(context):
        if (
            canonical_type(item["type"]) == MCP_LIST_TOOLS
            and item.get("server_label") == entry.get("server_label")
            and not item.get("error")
        ):
            tools: Sequence[Json] = item.get("tools") or []
            return tools
    return None


async def _open(entry: Json, provider: Provider, context: Sequence[Json], seconds: float) -> Json | None:
    try:
        async with asyncio.timeout(seconds):
            return await provider.open(_known(entry, context))
    except TimeoutError:
        return _unlisted(entry, f"The server did not list its tools within {seconds:g} seconds.")
    except Exception as error:
        # Without its text, which may quote what the server was told.
        log.error("a provider of tools failed to open", label=label_of(entry), error=type(error).__name__)
        return _unlisted(entry, "The server's tools could not be listed.")


def _unlisted(entry: Json, why: str) -> Json:
    return {"type": MCP_LIST_TOOLS, "server_label": label_of(entry), "tools": [], "error": why}


async def _close(entry: Json, provider: Provider) -> None:
    try:
        await provider.close()
    except Exception as error:
        log.warning("a provider of tools failed to close", label=label_of(entry), error=type(error).__name__)
