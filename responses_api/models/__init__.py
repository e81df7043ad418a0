"""The stored objects of the API."""

from responses_api.models.approval import UsedApproval
from responses_api.models.backend import Backend, Route
from responses_api.models.conformance import ConformanceResult, ConformanceRun
from responses_api.models.file import File, FileBlob, FileChunk
from responses_api.models.idempotency import IdempotentRequest
from responses_api.models.metadata import MetadataEntry
from responses_api.models.response import Item, Response

__all__ = [
    "Backend",
    "ConformanceResult",
    "ConformanceRun",
    "File",
    "FileBlob",
    "FileChunk",
    "IdempotentRequest",
    "Item",
    "MetadataEntry",
    "Response",
    "Route",
    "UsedApproval",
]
