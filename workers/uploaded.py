"""Uploaded files that a conversation names by their ids, handed to its model inline: no backend knows our ids.

The conversation keeps the ids. Within one response each file is read once.
"""

from typing import Final
from uuid import UUID

from responses_api.protocol.job import Job
from responses_api.protocol.media import not_usable, uploads_in
from responses_api.services.database import in_database
from responses_api.services.named_files import not_kept, read_named_file
from responses_api.services.offload import off_loop_if
from workers.inlining import MUCH_BYTES, Content, Kept, inlined, wanted

_read: Final = Kept[Content]("uploaded")


async def with_uploads(job: Job) -> Job:
    """The job with the content of the files that it names.

    Raises `ProtocolError` 400, naming the field, for a file that was deleted since the request came, and for one that
    is not what its part says; 503 where the database does not answer.
    """
    named = wanted(job, uploads_in)
    if not named or job.is_told_shorter:
        return job
    found = _read.of(job)
    for file_id, param in named.items():
        if file_id not in found:
            file = await in_database(read_named_file, UUID(job.tenant_id), file_id)
            if file is None:
                raise not_kept(file_id, param)
            found[file_id] = Content(*file)
    size = sum(len(content.data) for content in found.values())
    return await off_loop_if(size > MUCH_BYTES, inlined, job, uploads_in, found, not_usable)
