"""What may be kept of a request: of a tenant with zero data retention nothing, whatever the request says."""

from dataclasses import replace

from responses_api.protocol.errors import invalid_request
from responses_api.protocol.request import CreateRequest
from tenants.keys import Principal
from tenants.models import Tenant


def as_kept(principal: Principal, request: CreateRequest) -> CreateRequest:
    """The request as its tenant lets it be kept: with zero data retention it is one with `store: false`.

    Raises `ProtocolError` 400 for a background response, which lives in a stored row.
    """
    if not principal.zero_data_retention:
        return request
    if request.background:
        raise invalid_request(
            "This tenant keeps nothing (zero data retention), and a background response has to be stored; leave"
            " 'background' out.",
            param="background",
            code="unsupported_value",
        )
    return replace(request, store=False)


def may_keep(who: Principal | Tenant) -> None:
    """Raises `ProtocolError` 400 for a tenant that keeps nothing: a file is there to be kept."""
    if who.zero_data_retention:
        raise invalid_request(
            "This tenant keeps nothing (zero data retention), so no file can be uploaded; send its content with the"
            " request that needs it.",
            param="file",
            code="unsupported_value",
        )
