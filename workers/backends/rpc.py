"""What an error in the form of `google.rpc.Status` tells besides its code and its message: its status and its details.

`{"code": 429, "message", "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "…/google.rpc.RetryInfo", "retryDelay":
"34s"}, {"@type": "…/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}`
"""

import re
from typing import Any, Final

_DELAY: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?s")
_CREDENTIALS: Final = "API_KEY_"
_OF_THE_ACCOUNT: Final = "FAILED_PRECONDITION"


def retry_delay(error: Any) -> float | None:
    """How many seconds the server wants to be left alone, where it says so."""
    for detail in _details(error):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and _DELAY.fullmatch(delay):
            return float(delay[:-1])
    return None


def refuses_credentials(error: Any) -> bool:
    """Whether it is the key that was refused: that comes with the status 400, as if the request were wrong."""
    return any(str(detail.get("reason")).startswith(_CREDENTIALS) for detail in _details(error))


def refuses_account(error: Any) -> bool:
    """Whether nothing can be had by this account (its country, its bill), whatever the request."""
    return isinstance(error, dict) and error.get("status") == _OF_THE_ACCOUNT


def _details(error: Any) -> list[dict[str, Any]]:
    details = error.get("details") if isinstance(error, dict) else None
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []
