"""The hosted tools that this worker runs, by their types: the service's own, and those that installed packages add."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from responses_api.services.hosted import added
from workers.tools.file_search import FileSearch
from workers.tools.hosted import HostedTool


@cache
def hosted_tools() -> Mapping[str, HostedTool]:
    """Every tool that `services.hosted.declarations` declares."""
    own = (FileSearch(),)
    return MappingProxyType({tool.declaration.type: tool for tool in own} | dict(added().tools))
