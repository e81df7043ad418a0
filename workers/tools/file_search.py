"""File search: finds passages in the tenant's own files."""

import asyncio
from collections.abc import Sequence

import structlog

from responses_api.protocol import file_search
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.services import vectors
from responses_api.services.database import in_database
from responses_api.services.file_search import Asked, search
from workers.indexing.embedding import EmbeddingError, embedder
from workers.tools.hosted import HostedCall, HostedResult, HostedTool, ToolError

log = structlog.get_logger(__name__)


class FileSearch(HostedTool):
    """The built-in tool `antiphon:file_search`."""

    declaration = file_search.DECLARATION

    def begun(self, arguments: Json) -> Json:
        """A receipt without results yet."""
        try:
            return {"queries": file_search.queries_of(arguments), "results": []}
        except ValueError:
            return {"queries": [], "results": []}

    async def run(self, call: HostedCall) -> HostedResult:
        """Search. Raises `ToolError` where that cannot be done now, or the call asks for nothing."""
        try:
            queries = file_search.queries_of(call.arguments)
        except ValueError as error:
            raise ToolError(str(error)) from None
        call.tell("searching")
        try:
            # In a thread: a query takes a few milliseconds here, as long as it takes elsewhere.
            model, asked = await asyncio.to_thread(_embedded, queries)
            results = await in_database(_found, call, model, asked)
        except EmbeddingError as error:
            log.error("queries could not be embedded", reason=str(error))
            raise ToolError("Files cannot be searched at the moment.") from error
        except ProtocolError as error:
            raise ToolError(error.message) from error
        return HostedResult({"results": results})


def _embedded(queries: Sequence[str]) -> tuple[str, list[Asked]]:
    made = embedder().embed(queries)
    return embedder().model, [Asked(query, vector) for query, vector in zip(queries, made, strict=True)]


def _found(call: HostedCall, model: str, asked: Sequence[Asked]) -> list[Json]:
    if not vectors.are_there():
        raise ToolError(vectors.MISSING)
    return search(call.setting.tenant_id, call.entry, model, asked)
