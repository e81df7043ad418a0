"""One file from its content to its chunks."""

import uuid

from responses_api.services import indexing


def index(tenant_id: uuid.UUID, file_id: str) -> None:
    """Read a file that waits as `uploaded`: it ends as `processed`, or as `error` with a sentence that says why.

    May be called again for the same file, which then has what the last call found; one that was deleted meanwhile is
    no error. Raises whatever is no fault of the file's, such as a database that is away: it is tried again.
    """
    indexing.succeed(tenant_id, file_id)
