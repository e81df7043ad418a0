"""Warm up: a response that generates nothing, asked for so that others can continue it (`generate: false`).

Codex warms a connection so, before its user has said anything. It is a response like any other, completed and without
output: with `store: true` it can be continued and read everywhere.
"""

from responses_api.eventlog.message import Message
from responses_api.protocol import events
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import snapshot, usage
from responses_api.services.database import in_database
from responses_api.services.endings import last_events
from responses_api.services.finish import Outcome, finish
from responses_api.services.identity import now


async def warm(job: Job) -> tuple[Message, Json]:
    """Answer a prepared job at once: the whole stream as one message, and its final snapshot.

    Raises `ProtocolError` 503 where it cannot be stored, or charged.
    """
    request = CreateRequest.from_plain(job.request)
    begun = snapshot(
        response_id=job.response_id, created_at=job.created_at, request=request, status="in_progress"
    )
    final = {**begun, "status": "completed", "completed_at": now(), "usage": usage(0, 0)}
    await in_database(finish, [Outcome(job, final, is_stored=request.store)])
    return last_events([events.created(begun), events.in_progress(begun), events.terminal(final)], 0), final
