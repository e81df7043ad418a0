"""generateContent answers, streamed or whole, as parts.

The reading rules:

- only candidate 0 counts; a chunk may lack `candidates`, `content`, anything;
- an answer is whole when it told a finish reason, or why its prompt was blocked; anything else was cut off. The reason
  may stand in every chunk: what follows it counts all the same;
- each call comes whole. One without an id gets one that follows from the response's and its number;
- parts of kinds that nobody asked for (images, code, calls of the server's own tools) fail the answer: it would not be
  whole without them;
- data that is not JSON is a keep-alive, unless it begins like it: then it is a broken object.
"""

from collections.abc import Iterator
from typing import Any, Final

from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.plain import Json
from workers.backends.errors import cut_in_event, cut_off, from_stream_error
from workers.backends.gemini.figures import read_logprobs, read_usage
from workers.backends.gemini.framing import ObjectReader
from workers.backends.gemini.signatures import SIGNATURE, on_call, on_text, on_thought
from workers.backends.parts import CallDelta, Part, StateReport, Stop, StopReason, SummaryDelta, TextDelta
from workers.backends.values import parse_object, text_of, written

_TEXT = "text"
_THOUGHT = "thought"

_REASONS: Final[dict[str, StopReason]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "ESCALATION",
            "MODEL_ARMOR",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
        ),
        "content_filter",
    ),
}
_FAILURES: Final = {
    "MALFORMED_FUNCTION_CALL": "The model made a function call that cannot be read.",
    "UNEXPECTED_TOOL_CALL": "The model called a function that it was not offered.",
    "TOO_MANY_TOOL_CALLS": "The model called too many tools one after the other.",
    "MISSING_THOUGHT_SIGNATURE": "The model's backend misses what it gave with its reasoning before.",
    "MALFORMED_RESPONSE": "The model gave an answer that cannot be read.",
}
_UNSPECIFIED: Final = ("", "FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")
_NOT_CARRIED: Final = (
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "functionResponse",
)


class GeminiStream:
    """One answer from its bytes, cut anywhere.

    `feed` returns the parts that a chunk completes and never raises: what went wrong is raised by `close`, after the
    parts before it, so that the chunk boundaries change nothing. `finished` says that nothing more of use will come.
    """

    def __init__(self, response_id: str) -> None:
        self.finished = False
        self._response = response_id.partition("_")[2] or response_id
        self._objects = ObjectReader()
        self._calls = 0
        self._said: list[str] = []
        self._has_content = False
        self._held: list[Part] = []
        self._logprobs: tuple[Json, ...] = ()
        self._usage: Json = {}
        self._reason: StopReason | None = None
        self._failure: ProtocolError | None = None

    def feed(self, chunk: bytes) -> list[Part]:
        """The parts that this chunk completes."""
        return [] if self.finished else self._read(self._objects.feed(chunk))

    def close(self) -> list[Part]:
        """The rest of the answer, `Stop` at its end. Raises `ProtocolError` when it failed or was cut off."""
        parts = [] if self.finished else self._read(self._objects.close())
        self.finished = True
        if self._failure is not None:
            raise self._failure
        reason = self._reason
        if reason is None and self._objects.is_json and not self._objects.is_cut and self._has_content:
            # A whole body needs no reason: that it could be read shows that nothing is missing.
            reason = "stop"
        if reason is None:
            raise cut_off()
        if reason == "stop":
            # A text that was cut short is none that its signature is for.
            parts += self._held
        return [*parts, Stop("tool_calls" if reason == "stop" and self._calls else reason)]

    def _read(self, texts: list[str]) -> list[Part]:
        parts: list[Part] = []
        for text in texts:
            if self.finished:
                break
            if not text.startswith("{"):
                continue
            try:
                chunk = parse_object(text)
            except ValueError:
                self._fail(cut_in_event())
                break
            self._read_chunk(chunk, parts)
        return parts

    def _read_chunk(self, chunk: Json, parts: list[Part]) -> None:
        if chunk.get("error"):
            self._fail(from_stream_error(chunk["error"]))
            return
        candidates = chunk.get("candidates")
        chosen = next(_first(candidates if isinstance(candidates, list) else []), {})
        self._read_content(chosen, parts)
        usage = chunk.get("usageMetadata")
        if isinstance(usage, dict):
            # Each is the sum so far, in which a later chunk may leave out what has not changed.
            self._usage.update(usage)
            parts.append(read_usage(self._usage))
        self._read_reason(chosen.get("finishReason"))
        feedback = chunk.get("promptFeedback")
        if isinstance(feedback, dict) and _told(feedback.get("blockReason")):
            self._reason = "content_filter"

    def _read_content(self, candidate: Json, parts: list[Part]) -> None:
        self._logprobs += read_logprobs(candidate.get("logprobsResult"))
        content = candidate.get("content")
        told = content.get("parts") if isinstance(content, dict) else None
        for part in told if isinstance(told, list) else ():
            if isinstance(part, dict) and not self.finished:
                self._has_content = True
                self._read_part(part, parts)

    def _read_part(self, part: Json, parts: list[Part]) -> None:
        signature = part.get(SIGNATURE)
        signature = signature if isinstance(signature, str) else ""
        text = part.get("text")
        if isinstance(part.get("functionCall"), dict):
            self._read_call(part["functionCall"], signature, parts)
        elif other := next((kind for kind in _NOT_CARRIED if part.get(kind)), None):
            self._fail(_not_carried(other))
        elif part.get("thought") is True:
            self._read_thought(text if isinstance(text, str) else "", signature, parts)
        else:
            self._read_text(text if isinstance(text, str) else "", signature, parts)

    def _read_thought(self, text: str, signature: str, parts: list[Part]) -> None:
        if not text and not signature:
            return  # nothing of it is told: the text goes on
        self._end_text(parts)
        if text:
            parts.append(SummaryDelta(_THOUGHT, text))
        if signature:
            parts.append(StateReport(on_thought(text, signature)))

    def _read_text(self, text: str, signature: str, parts: list[Part]) -> None:
        report = [StateReport(on_text(text, "".join(self._said), signature))] if signature else []
        if self._said:
            # It must not cut the text in two.
            self._held += report
        else:
            parts += report
        if text:
            logprobs, self._logprobs = self._logprobs, ()
            parts.append(TextDelta(_TEXT, text, logprobs))
            self._said.append(text)

    def _end_text(self, parts: list[Part]) -> None:
        """Something else begins: what comes later is another text."""
        parts += self._held
        self._held = []
        self._said = []

    def _read_call(self, call: Json, signature: str, parts: list[Part]) -> None:
        if call.get("partialArgs") or call.get("willContinue"):
            self._fail(_not_carried("functionCall in pieces"))
            return
        self._end_text(parts)
        name, own_id = text_of(call.get("name")), text_of(call.get("id"))
        arguments = call.get("args")
        try:
            # A function without parameters has none.
            told = "{}" if arguments is None else written(arguments)
        except ProtocolError as failure:
            self._fail(failure)
            return
        if signature:
            parts.append(
                StateReport(on_call(name, {} if arguments is None else arguments, own_id, signature))
            )
        self._calls += 1
        call_id = own_id or f"call_{self._response}_{self._calls}"
        parts.append(CallDelta(self._calls, call_id, name or None, told))

    def _read_reason(self, reason: Any) -> None:
        if not _told(reason):
            return
        if reason in _REASONS:
            self._reason = _REASONS[reason]
            return
        message = _FAILURES.get(reason, "The model's backend failed while it generated the answer.")
        self._fail(model_error(message).because(f"the finish reason was {ascii(reason)[:64]}"))

    def _fail(self, failure: ProtocolError) -> None:
        self._failure = self._failure or failure
        self.finished = True


def _first(candidates: list[Any]) -> Iterator[Json]:
    """The candidates with the index 0, which is left out like every default."""
    return (one for one in candidates if isinstance(one, dict) and not one.get("index"))


def _told(reason: Any) -> bool:
    return isinstance(reason, str) and reason not in _UNSPECIFIED


def _not_carried(kind: str) -> ProtocolError:
    return model_error("The model answered with something that this service cannot carry.").because(
        f"a part was of the kind {ascii(kind)[:64]}"
    )
