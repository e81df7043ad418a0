"""Everything but create: short questions that Django REST framework answers.

A query parameter that a client may rely on and this server does not serve is refused; nothing is ignored in silence.
"""

import re
from typing import Any, ClassVar, Final, get_args

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from responses_api.http.authentication import KeyAuthentication
from responses_api.http.follow import truth
from responses_api.models.fields import is_id
from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.request_body import Include
from responses_api.services import routing, stored
from responses_api.services.access import Scope
from responses_api.services.cancel import cancel
from responses_api.services.routing import ServedModel
from responses_api.services.stored import Order, Page
from tenants.keys import Principal

_MOST_PER_PAGE: Final = 100
_RESPONSE_ID: Final = re.compile(r"resp_[0-9a-f]{44}")
"""An id as `protocol.ids` builds it. The list is paged by ids alone: what is none would have some place in it, too."""
_INCLUDE: Final = re.compile(r"include(\[\d*\])?")
"""Clients write a list as `include=`, `include[]=` or `include[0]=`."""


class ApiView(APIView):
    """A view of the API. `OPTIONS` is no method of it."""

    http_method_names = ("get", "post", "delete", "head")
    scopes: ClassVar[dict[str, Scope]] = {}
    """The scope that a key needs for each method."""

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Who finds the caller, and asks the key for the scope of the method."""
        method = (self.request.method or "").lower()
        return [KeyAuthentication(self.scopes.get("get" if method == "head" else method))]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Find the caller; refuse parameters that no view could use. Raises `ProtocolError` 401, 403 or 400."""
        super().initial(request, *args, **kwargs)
        for name, values in request.query_params.lists():
            if any("\x00" in text for text in (name, *values)):
                raise invalid_request(
                    "Query parameters may not hold the character U+0000.", param=name.replace("\x00", "")
                )


class Responses(ApiView):
    """`GET /v1/responses`. (`POST` never gets here: `routing.py` sends it to the create endpoint.)"""

    scopes: ClassVar[dict[str, Scope]] = {"get": "responses:read"}

    @property
    def allowed_methods(self) -> list[str]:
        """What `Allow` tells: what there is at this address, whoever answers it."""
        return ["GET", "POST", "HEAD"]

    def get(self, request: Request) -> Response:
        """List the tenant's stored responses."""
        page = _page(request)
        if page.after is not None and not _RESPONSE_ID.fullmatch(page.after):
            raise _no_anchor()
        return Response(stored.list_responses(caller_of(request).tenant_id, page))


class OneResponse(ApiView):
    """`GET` and `DELETE /v1/responses/{id}`."""

    scopes: ClassVar[dict[str, Scope]] = {"get": "responses:read", "delete": "responses:write"}

    def get(self, request: Request, response_id: str) -> Response:
        """The response as it is now."""
        _check_stream(request)
        return Response(stored.retrieve(caller_of(request).tenant_id, response_id, _include(request)))

    def delete(self, request: Request, response_id: str) -> Response:
        """Delete the response."""
        return Response(stored.delete(caller_of(request).tenant_id, response_id))


class InputItems(ApiView):
    """`GET /v1/responses/{id}/input_items`."""

    scopes: ClassVar[dict[str, Scope]] = {"get": "responses:read"}

    def get(self, request: Request, response_id: str) -> Response:
        """List the response's own new input items."""
        _include(request)  # an input item is always shown as it was sent
        return Response(stored.input_items(caller_of(request).tenant_id, response_id, _page(request)))


class WorkersCalls(ApiView):
    """`/v1/responses/compact` and `…/input_tokens`, which have `POST` alone. (`routing.py` sends it to workers.)"""

    @property
    def allowed_methods(self) -> list[str]:
        """What `Allow` tells."""
        return ["POST"]


class Cancel(ApiView):
    """`POST /v1/responses/{id}/cancel`."""

    scopes: ClassVar[dict[str, Scope]] = {"post": "responses:write"}

    def post(self, request: Request, response_id: str) -> Response:
        """Cancel a background response; the answer is the response as it ended."""
        return Response(cancel(caller_of(request).tenant_id, response_id))


class Models(ApiView):
    """`GET /v1/models`."""

    scopes: ClassVar[dict[str, Scope]] = {"get": "models:read"}

    def get(self, request: Request) -> Response:
        """List the models that this key may use."""
        data = [_model(model) for model in routing.models_for(caller_of(request).allowed_models)]
        return Response({"object": "list", "data": data})


class OneModel(ApiView):
    """`GET /v1/models/{id}`."""

    scopes: ClassVar[dict[str, Scope]] = {"get": "models:read"}

    def get(self, request: Request, name: str) -> Response:
        """One model that this key may use."""
        return Response(_model(routing.model_named(name, caller_of(request).allowed_models)))


def caller_of(request: Request) -> Principal:
    """Who makes a request that was let in."""
    principal: Any = request.user
    assert isinstance(principal, Principal)
    return principal


def _model(model: ServedModel) -> Json:
    return {"id": model.name, "object": "model", "created": model.created_at, "owned_by": model.first.name}


def _include(request: Request) -> set[str]:
    """What the caller wants to see besides, every value of it known. Raises `ProtocolError` 400."""
    known, asked = get_args(Include), set[str]()
    for name, values in request.query_params.lists():
        if _INCLUDE.fullmatch(name):
            asked.update(values)
    if not asked <= set(known):
        raise invalid_request(f"`include` must be of: {', '.join(known)}.", param="include")
    return asked


def _unsupported(message: str, param: str) -> ProtocolError:
    return invalid_request(message, param=param, code="unsupported_value")


def _check_stream(request: Request) -> None:
    """What says how to stream has to make sense even where nothing is streamed."""
    truth(request.query_params, "include_obfuscation")
    if "starting_after" in request.query_params:
        raise invalid_request(
            "`starting_after` is a place in an event stream; it goes with `stream=true`.",
            param="starting_after",
        )


def _page(request: Request) -> Page:
    if "before" in request.query_params:
        raise _unsupported(
            "`before` is not offered by this server; use `after` with the other `order`.", "before"
        )
    return Page(
        limit=limit_of(request.query_params.get("limit", "20"), _MOST_PER_PAGE),
        order=order_of(request.query_params.get("order", "desc")),
        after=_after(request),
    )


def order_of(given: str) -> Order:
    """The order of a list. Raises `ProtocolError` 400."""
    if given == "asc":
        return "asc"
    if given == "desc":
        return "desc"
    raise invalid_request("`order` must be 'asc' or 'desc'.", param="order")


def limit_of(given: str, most: int) -> int:
    """How many a page has at most. Raises `ProtocolError` 400."""
    is_short = len(given) <= len(str(most))
    if not (is_short and given.isascii() and given.isdigit() and 1 <= int(given) <= most):
        raise invalid_request(f"`limit` must be a whole number between 1 and {most}.", param="limit")
    return int(given)


def _after(request: Request) -> str | None:
    after = request.query_params.get("after") or None
    if after is not None and not is_id(after):
        raise _no_anchor()
    return after


def _no_anchor() -> ProtocolError:
    return invalid_request("`after` must be the id of an entry of this list.", param="after")
