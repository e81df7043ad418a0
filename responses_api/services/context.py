"""What a request is asked on top of: the history that it continues, and its own new input.

Protocol: "Chains". What is found here is complete and checked: whoever gets a `Context` may send it to a model.
"""

from dataclasses import dataclass

from django.conf import settings

from responses_api.chains import NOT_CONTINUABLE, load_context, still_running
from responses_api.protocol.calls import check_call_pairs
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.services.database import in_database
from responses_api.services.references import has_references, resolve
from responses_api.services.running import find_running
from responses_api.services.sealed import check_given
from tenants.keys import Principal
from tenants.scoping import tenant_scope


@dataclass(frozen=True, slots=True)
class Context:
    """The conversation before the request, oldest first, and what the request adds: its input, references replaced."""

    history: list[Json]
    given: list[Json]
    tenant_id: str

    @property
    def size(self) -> int:
        """How many items it has."""
        return len(self.history) + len(self.given)

    def check(self) -> None:
        """Check that every output answers a call, every call has its output, and what is sealed opens.

        Raises `ProtocolError` 400.
        """
        check_call_pairs([*self.history, *self.given], len(self.history))
        check_given(self.given, self.tenant_id)


async def context_of(
    principal: Principal, request: CreateRequest, remembered: list[Json] | None = None
) -> Context:
    """The context of `request`.

    `remembered` is the history where the caller holds it (a connection's latest response); otherwise the chain is read.
    Raises `ProtocolError` 400 where there is nothing to continue or too much of it or where the input refers to an item
    that there is not, 409 while what it continues still runs.
    """
    history = remembered if remembered is not None else await _history(principal, request)
    _refuse_too_many(len(request.input), len(history))
    return Context(history, await _given(principal, request), str(principal.tenant_id))


def _refuse_too_many(given: int, before: int) -> None:
    """Bytes alone do not bound the work that items make, here and in the worker."""
    if given + before > settings.MAX_ITEMS:
        raise invalid_request(
            f"The request and what it continues have {given + before} items; this server takes {settings.MAX_ITEMS}.",
            param="input" if given > before else "previous_response_id",
            code="context_length_exceeded",
        )


async def _history(principal: Principal, request: CreateRequest) -> list[Json]:
    """The items of the chain that the request continues."""
    previous = request.previous_response_id
    if previous is None:
        return []
    try:
        return await in_database(_load, principal, previous)
    except ProtocolError as error:
        if error.code != NOT_CONTINUABLE:
            raise
    if await in_database(find_running, principal.tenant_id, previous) is None:
        # It may have ended between the two looks; its row is there before its job is gone.
        return await in_database(_load, principal, previous)
    raise still_running(previous)


async def _given(principal: Principal, request: CreateRequest) -> list[Json]:
    """The request's own input, its references replaced by the items they name."""
    if not has_references(request.input):
        return request.input
    return await in_database(_resolve, principal, request.input)


def _resolve(principal: Principal, items: list[Json]) -> list[Json]:
    with tenant_scope(principal.tenant_id):
        return resolve(items)


def _load(principal: Principal, response_id: str) -> list[Json]:
    with tenant_scope(principal.tenant_id):
        return load_context(response_id)
