"""Going on from a response that the backend stores itself, where its row has `previous_response_id`.

A chain of the service's is then a chain there: only the new input is sent, with the id that the backend gave its last
response. It is tried where that is certainly the same conversation: the history comes from the service and not from
the client, nothing was dropped from it, and nobody else has spoken since. A backend that refuses gets the whole
conversation (`registry.Adapter.shorten`).
"""

from collections.abc import Sequence

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.job import STATE, Job
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from workers.backends.responses.items import told_items
from workers.backends.responses.state import ITEMS, RESPONSE


def stores(job: Job) -> bool:
    """Whether the backend is to store its response: never what the client does not want to be stored."""
    return BackendSpec.from_plain(job.backend).has("previous_response_id") and bool(job.request["store"])


def shorten(job: Job, body: Json) -> Json | None:
    """The body that is tried first, made of the whole one; None where that is the only one."""
    if not stores(job):
        return None
    previous = _previous(job.history)
    new = told_items(job.input_items, BackendSpec.from_plain(job.backend))
    if previous is None or not new:
        return None
    return {**body, "input": new, "previous_response_id": previous}


def _previous(history: Sequence[Json]) -> str | None:
    """The backend's id of the last response of the history, if it is the backend's, and as it was."""
    for place in range(len(history) - 1, -1, -1):
        item = history[place]
        if not _is_of_model(item):
            return None
        for state in item.get(STATE) or () if item["type"] == "reasoning" else ():
            if RESPONSE in state:
                return str(state[RESPONSE]) if state[ITEMS] == place else None
    return None


def _is_of_model(item: Json) -> bool:
    """Whether an item can be what a model said."""
    kind = str(item["type"])
    if kind == "message":
        return bool(item["role"] == "assistant")
    return kind in ("reasoning", "function_call") or (is_foreign(kind) and not kind.endswith("_output"))
