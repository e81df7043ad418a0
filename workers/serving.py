"""What a worker process has for the tools that the service runs: who makes their providers, and what is asked when one
of them is called.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from responses_api.protocol.hosted import by_receipt
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy, Tool, Verdict, judge_all
from responses_api.protocol.policy_reading import policies_of
from responses_api.protocol.receipts import REFUSED_BY
from responses_api.protocol.server_tools import MCP, MCP_APPROVAL_REQUEST, MCP_CALL, canonical_type
from responses_api.services.approvals import claim
from responses_api.services.current_policies import current_policies
from responses_api.services.hosted import declarations
from responses_api.services.tool_secrets import opened_secrets
from workers.tools.hosted import HostedProvider
from workers.tools.mcp.connections import McpConnections
from workers.tools.mcp.provider import McpProvider
from workers.tools.provider import Provider, Setting
from workers.tools.registry import hosted_tools
from workers.tools.toolbox import MakeProvider, Makers, Toolbox, has_served_tools, toolbox_of


@dataclass(frozen=True, slots=True)
class Serving:
    """`makers` make the providers. `policies` are those in force now of a tenant and a key; `claim` says whether an
    approval request is the response's to run (blocks: for threads); `secrets` opens those of a job's tools.
    """

    makers: Makers
    policies: Callable[[UUID, UUID], Awaitable[Sequence[Policy]]]
    claim: Callable[[UUID, str, str], bool]
    secrets: Callable[[Job], Mapping[int, Json]]

    @classmethod
    def of_process(cls, connections: McpConnections) -> "Serving":
        """What this process has: MCP servers by their `connections`, and the hosted tools that it knows."""
        hosted = {kind: partial(HostedProvider, tool) for kind, tool in hosted_tools().items()}
        makers: dict[str, MakeProvider] = {MCP: partial(_mcp, connections), **hosted}
        return cls(makers, current_policies, claim, opened_secrets)

    def serves(self, request: Json) -> bool:
        """Whether a request has tools that the service runs."""
        return bool(request["tools"]) and has_served_tools(request, self.makers)

    async def policies_now(self, job: Job) -> Sequence[Policy]:
        """The policies in force now of a job's tenant and key."""
        return await self.policies(UUID(job.tenant_id), UUID(job.key_id))

    def toolbox(self, job: Job) -> Toolbox:
        """The tools of a job that the service runs. Raises `ProtocolError` where their secrets do not open."""
        return toolbox_of(job, self.makers, self.secrets(job))


def judged_before(job: Job, item: Json) -> tuple[str, Sequence[Verdict]] | None:
    """Which tool an output item of another attempt called, or asked to call, and what the policies say of it; None
    where it tells no call of a tool that the service runs.
    """
    kind = canonical_type(item["type"])
    hosted = by_receipt(declarations().values()).get(kind)
    if hosted is not None:
        tool = Tool("hosted", hosted.type)
    elif kind == MCP_APPROVAL_REQUEST and item["server_label"] in declarations():
        tool = Tool("hosted", item["server_label"])
    elif kind in (MCP_CALL, MCP_APPROVAL_REQUEST):
        entries = [
            entry for entry in job.request["tools"] if entry.get("server_label") == item["server_label"]
        ]
        tool = Tool("mcp", item["name"], entries[0]["server_url"] if entries else "")
    else:
        return None
    refused_by = item.get(REFUSED_BY)
    if refused_by is not None:
        return tool.name, (Verdict(**refused_by),)
    return tool.name, judge_all(policies_of(job.policies), tool, job.request["model"])


def _mcp(connections: McpConnections, setting: Setting) -> Provider:
    return McpProvider(setting, connections)
