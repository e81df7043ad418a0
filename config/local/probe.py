"""Asks a server on this machine how it is."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping

# A proxy that the environment names is for the world outside.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def status_of(url: str, headers: Mapping[str, str] | None = None, seconds: float = 2.0) -> int | None:
    """The status of the answer to a GET; None when no (whole) answer comes within `seconds`."""
    request = urllib.request.Request(url, headers=dict(headers or {}))
    try:
        with _opener.open(request, timeout=seconds) as answer:
            status: int = answer.status
            return status
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except (OSError, http.client.HTTPException):
        return None
