"""What schemathesis has to know of the service that no schema says. It loads this file by `SCHEMATHESIS_HOOKS`."""

from typing import Any

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.support.service import MODEL

_CODES = frozenset(
    {
        "previous_response_not_found",
        "item_not_found",
        "invalid_encrypted_content",
        "unpaired_call_id",
        "approval_request_not_found",
        "approval_used",
        "file_not_usable",
        "not_a_background_response",
    }
)
"""Only the service knows whether an id names something, and whether a call has its output."""

_SENTENCES = (
    "only a request with 'previous_response_id' may leave it empty",
    "which is not among the request's 'tools'",
    "but the request has no 'tools'",
    "is required, unless 'file_",
    "cannot be given together with '",
    "There is nothing before the compaction_trigger",
    "must be the last item of the input",
    "nothing that this model's backend can be told",
    "`after` names no item of this response",
    "it goes with `stream=true`",
    "is a number beyond 64 bits",
    "`end` must be later than `start`",
    "The period may have",
    "must be the `next_page` of an answer",
    "`group_by` takes one of day and hour",
    "must be a date such as",
    "not offered by this server",
    "not supported by this model's backend",
    "No backend of this model takes the option",
    "beside a compaction_trigger",
    "a type that the model's backend takes",
    "is no receipt of the tool",
    "names no item of this service",
    ".server_url' ",
    ".server_label' must be another one",
    ".headers' ",
    ".authorization' ",
    ".defer_loading' ",
)
"""Fields that hang together in ways that a schema could only say at the cost of those who read it."""


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Ask a model that there is, wherever a model is named."""
    body = case.body
    if isinstance(body, dict) and isinstance(body.get("model"), str) and body["model"]:
        case.body = {**body, "model": MODEL}


@schemathesis.check
def described_data_is_accepted(ctx: Any, response: Any, case: Any) -> bool | None:
    """Schemathesis's `positive_data_acceptance`, but for what no schema can foresee."""
    try:
        return positive_data_acceptance(ctx, response, case)
    except RejectedPositiveData:
        error = response.json()["error"]
        if error["code"] in _CODES or any(sentence in error["message"] for sentence in _SENTENCES):
            return None
        raise
