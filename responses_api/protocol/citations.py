"""Annotations of output text as each dialect has them.

The specification knows `url_citation` only. OpenAI has `file_citation` for files that are kept here; told to others it
is a citation of the address that the file's content has. A span's `end_index` is behind its last character.
"""

from typing import Final

from responses_api.protocol.content import url_citation
from responses_api.protocol.event_types import Dialect
from responses_api.protocol.plain import Json

FILE_CITATION: Final = "file_citation"


def placed_annotation(annotation: Json, start: int, end: int, dialect: Dialect) -> Json | None:
    """A citation that says nothing of its place (`Declaration.citations`), as a dialect has it of this span of the
    text, in characters.
    """
    if annotation["type"] != FILE_CITATION:
        return url_citation({**annotation, "start_index": start, "end_index": end})
    file_id, filename = annotation["file_id"], annotation["filename"]
    if dialect == "openai":
        return {"type": FILE_CITATION, "file_id": file_id, "filename": filename, "index": start}
    return {
        "type": "url_citation",
        "start_index": start,
        "end_index": end,
        "url": content_url(file_id),
        "title": filename,
    }


def content_url(file_id: str) -> str:
    """Where a file's content is, on the server that told of it."""
    return f"/v1/files/{file_id}/content"
