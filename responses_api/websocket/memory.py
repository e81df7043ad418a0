"""What a connection remembers: its latest response, where that is stored nowhere else.

Specification: "WebSocket", continuation. It is kept as the bytes of its items, which take a fraction of the room of
objects.
"""

from django.conf import settings

from responses_api.chains import CONTINUABLE
from responses_api.protocol.compaction import continued
from responses_api.protocol.errors import invalid_request
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from responses_api.protocol.reading import LARGE_BYTES, MANY_ITEMS
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.sse import decode, encode
from responses_api.services.offload import off_loop_if


class Memory:
    """The context of one connection's latest response: everything before it, its input and its output."""

    def __init__(self) -> None:
        self._response_id: str | None = None
        self._context: bytes | None = None

    async def recall(self, request: CreateRequest) -> list[Json] | None:
        """The history of a request that continues what is remembered; None for any other.

        Raises `ProtocolError` 400 where the history is too large, or the request is to be stored on top of what is not.
        """
        if self._response_id is None or request.previous_response_id != self._response_id:
            return None
        if request.store:
            raise invalid_request(
                f"'store' must be false: the response '{self._response_id}', which this one continues, is not stored.",
                param="store",
                code="unsupported_value",
            )
        if self._context is None:
            raise invalid_request(
                f"The items before this request are more than the {settings.MAX_CONTEXT_BYTES} bytes that this server "
                "continues. Begin a new chain.",
                param="previous_response_id",
                code="context_length_exceeded",
            )
        items: list[Json] = await off_loop_if(len(self._context) > LARGE_BYTES, decode, self._context)
        return items

    async def learn(self, job: Job, final: Json) -> None:
        """A response has ended. It is remembered where it can be continued here alone; an older one is forgotten."""
        if final["status"] not in CONTINUABLE:
            return
        self._response_id = self._context = None
        if not job.request["store"]:
            items = continued(job.context, list(filter(_can_be_continued, final["output"])))
            context = await off_loop_if(len(items) > MANY_ITEMS, encode, items)
            self._response_id = job.response_id
            self._context = context if len(context) <= settings.MAX_CONTEXT_BYTES else None

    def evict(self, response_id: str | None) -> None:
        """Forget a response: a continuation of it failed."""
        if response_id is not None and response_id == self._response_id:
            self._response_id = self._context = None


def _can_be_continued(item: Json) -> bool:
    """As in a stored chain: a call that was cut short is left out, since nobody can answer it."""
    return not (item["type"] == "function_call" and item.get("status") == "incomplete")
