"""Responses answers, streamed or whole, as parts.

Servers of this format differ in small ways; what is read here is the union of what they send. The reading rules:

- an event's type is that of its data, else the name of its frame; one that is not known here says nothing, nor do
  numbers: `sequence_number` may be missing, wrong or right;
- what an event is about is found by `slots`, what was told already by `telling`: an item that comes again, done or in
  the final response, adds what was not told of it, and nothing else;
- an answer is whole when it told one of the three terminal events; `[DONE]` alone ends nothing;
- a server that never tells `incomplete_details` (llama.cpp) does not say where it was cut short: with as many tokens as
  were asked for, it was;
- a response that its backend cancelled is a failure: nobody here asked for that;
- data that is not a JSON object is a keep-alive, unless it begins like one: then it is a broken object.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from responses_api.protocol import event_types as t
from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from workers.backends.errors import cut_off, from_stream_error
from workers.backends.parts import Part, Stop, StopReason
from workers.backends.reader import AnswerReader
from workers.backends.responses import state
from workers.backends.responses.chaining import stores
from workers.backends.responses.figures import read_usage
from workers.backends.responses.telling import Teller

_TERMINAL: Final = {
    t.COMPLETED: "completed",
    t.INCOMPLETE: "incomplete",
    t.FAILED: "failed",
    "response.cancelled": "cancelled",
}


class ResponsesStream(AnswerReader):
    """One answer to this job from its bytes, cut anywhere."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self._teller = Teller(BackendSpec.from_plain(job.backend))
        self._items = len(job.context) if stores(job) else None
        self._most: int | None = job.request["max_output_tokens"]
        self._reason: StopReason | None = None

    def close(self) -> list[Part]:
        """The rest of the answer, `Stop` at its end. Raises `ProtocolError` when it failed or was cut off."""
        parts = self._read_rest()
        if self._reason is None:
            raise cut_off()
        return [*parts, Stop(self._reason)]

    def _read_object(self, name: str | None, told: Json, parts: list[Part]) -> None:
        kind = told.get("type")
        if not isinstance(kind, str) or name == t.ERROR:
            kind = name
        self._take(kind or "", told, parts)

    def _read_whole(self, body: Json, parts: list[Part]) -> None:
        if isinstance(body.get("output"), list):
            self._begin(body, parts)
            self._end(body, "", parts)
        elif body.get("error") or body.get("type") == t.ERROR:
            self._fail(from_stream_error(_error_in(body)))

    def _take(self, kind: str, event: Json, parts: list[Part]) -> None:
        if kind in (t.CREATED, t.IN_PROGRESS, t.QUEUED):
            self._begin(event.get("response"), parts)
        elif kind in _TERMINAL:
            self._end(event.get("response"), _TERMINAL[kind], parts)
        elif kind == t.ERROR:
            self._fail(from_stream_error(_error_in(event)))
        elif not kind and event.get("error"):
            self._fail(from_stream_error(event["error"]))
        else:
            self._tell(self._teller.take(kind, event), parts)

    def _tell(self, told: Iterable[Part], parts: list[Part]) -> None:
        try:
            parts.extend(told)
        except ProtocolError as failure:
            self._fail(failure)
        except ValueError:
            self._fail(model_error("The backend's answer has values that are nested too deeply."))

    def _begin(self, response: Any, parts: list[Part]) -> None:
        """The response is there: where the backend keeps it, its id is what the next one goes on from."""
        told = response.get("id") if isinstance(response, dict) else None
        if self._items is not None and isinstance(told, str) and told:
            parts.append(state.of_response(told, self._items))
            self._items = None

    def _end(self, response: Any, status: str, parts: list[Part]) -> None:
        """The response has ended; `status` is what its event says, which its own word goes before."""
        response = response if isinstance(response, dict) else {}
        own = response.get("status")
        ending = _ENDINGS.get(own if isinstance(own, str) and own in _ENDINGS else status)
        if ending is None:
            self._fail(cut_off())
            return
        if isinstance(response.get("usage"), dict):
            parts.append(read_usage(response["usage"]))
        ending(self, response, parts)
        self.finished = True

    def _complete(self, response: Json, parts: list[Part]) -> None:
        self._tell(self._teller.rest(response.get("output")), parts)
        self._reason = "tool_calls" if self._teller.has_called else "stop"
        if self._most is not None and "incomplete_details" not in response and _said(response) >= self._most:
            self._reason = "length"

    def _cut_short(self, response: Json, parts: list[Part]) -> None:
        self._tell(self._teller.rest(response.get("output")), parts)
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        self._reason = "content_filter" if reason == "content_filter" else "length"

    def _failed(self, response: Json, parts: list[Part]) -> None:
        self._fail(from_stream_error(response.get("error")))

    def _cancelled(self, response: Json, parts: list[Part]) -> None:
        self._fail(model_error("The backend cancelled its answer."))


_ENDINGS: Final[dict[str, Callable[[ResponsesStream, Json, list[Part]], None]]] = {
    "completed": ResponsesStream._complete,
    "incomplete": ResponsesStream._cut_short,
    "failed": ResponsesStream._failed,
    "cancelled": ResponsesStream._cancelled,
}


def _said(response: Json) -> int:
    """How many tokens were said."""
    usage = response.get("usage")
    return read_usage(usage).output_tokens if isinstance(usage, dict) else 0


def _error_in(event: Json) -> Any:
    """The error of an event, which holds it under `error` or is it."""
    return event.get("error") or {**event, "type": None}
