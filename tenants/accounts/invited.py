"""The invitation that somebody came by: its digest is kept in their session from the link's first visit on."""

from typing import Final

from django.http import HttpRequest

from tenants import invitations
from tenants.models import Invitation

_KEY: Final = "antiphon_invitation"


def remember(request: HttpRequest, digest: str) -> None:
    """Keep which invitation somebody came by. The digest alone opens nothing: only the token is a link."""
    request.session[_KEY] = digest


def forget(request: HttpRequest) -> None:
    """The invitation was accepted, or is of no use."""
    request.session.pop(_KEY, None)


def digest_of_visit(request: HttpRequest) -> str | None:
    """The digest of the invitation that somebody came by."""
    found = request.session.get(_KEY)
    return found if isinstance(found, str) else None


def invitation_of(request: HttpRequest) -> Invitation | None:
    """The invitation that somebody came by, while it can be accepted."""
    digest = digest_of_visit(request)
    if digest is None:
        return None
    try:
        return invitations.find(digest)
    except invitations.Gone:
        return None
