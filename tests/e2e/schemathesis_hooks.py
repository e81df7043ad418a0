"""What schemathesis has to know of the service that no schema says. It loads this file by `SCHEMATHESIS_HOOKS`."""

from typing import Any

import schemathesis
from schemathesis.specs.openapi.checks import RejectedPositiveData, positive_data_acceptance

from tests.support.service import MODEL

_BEYOND_SCHEMAS = frozenset(
    {
        "previous_response_not_found",
        "item_not_found",
        "invalid_encrypted_content",
        "unpaired_call_id",
    }
)
"""What only the service can know: whether an id names something, whether a call has its output."""

_NO_SUCH_TOOL = "which is not among the request's 'tools'"


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Ask a model that there is, wherever a model is named."""
    if isinstance(body, dict) and isinstance(body.get("model"), str) and body["model"]:
        body["model"] = MODEL
    return body


@schemathesis.check
def described_data_is_accepted(ctx: Any, response: Any, case: Any) -> bool | None:
    """Schemathesis's `positive_data_acceptance`, but for errors that no schema can foresee."""
    try:
        return positive_data_acceptance(ctx, response, case)
    except RejectedPositiveData:
        error = response.json()["error"]
        if error["code"] in _BEYOND_SCHEMAS or _NO_SUCH_TOOL in error["message"]:
            return None
        raise
