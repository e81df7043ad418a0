"""File search: finds passages in the tenant's own files."""

from responses_api.protocol import file_search
from responses_api.protocol.plain import Json
from workers.tools.hosted import HostedCall, HostedResult, HostedTool, ToolError


class FileSearch(HostedTool):
    """The built-in tool `antiphon:file_search`."""

    declaration = file_search.DECLARATION

    def begun(self, arguments: Json) -> Json:
        """A receipt without results yet."""
        try:
            queries = file_search.queries_of(arguments)
        except ValueError:
            queries = []
        return {"queries": queries, "results": []}

    async def run(self, call: HostedCall) -> HostedResult:
        """Search. Raises `ToolError` for a call that asks for nothing."""
        try:
            queries = file_search.queries_of(call.arguments)
        except ValueError as error:
            raise ToolError(str(error)) from None
        call.tell("searching")
        raise ToolError(f"There is nothing to search for {len(queries)} queries in yet.")
