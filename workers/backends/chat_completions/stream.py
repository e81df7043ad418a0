"""Chat Completions answers, streamed or whole, as parts.

Servers of this format differ in small ways; what is read here is the union of what they send. The reading
rules:

- only choice 0 counts; a chunk may lack `choices`, `delta`, anything;
- reasoning has several names, often for the same text: the first that is filled counts, once a chunk; where it has
  none, `thinking.py` says what of the content is reasoning;
- a stream is whole when it told a finish reason or `[DONE]`; anything else was cut off;
- data that is not a JSON object is a keep-alive, unless it begins like one: then it is a broken object.
"""

from typing import Any

from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.plain import Json
from workers.backends.chat_completions.calls import CallReader
from workers.backends.chat_completions.figures import read_logprobs, read_usage
from workers.backends.chat_completions.reasoning import ReasoningReader, join_texts
from workers.backends.chat_completions.thinking import ThinkReader
from workers.backends.errors import cut_off, from_stream_error
from workers.backends.parts import Part, ReasoningDelta, RefusalDelta, Stop, StopReason, TextDelta
from workers.backends.reader import AnswerReader

_TEXT = "content"
_REFUSAL = "refusal"
_REASONING = "reasoning"

_REASONS: dict[str, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
_FAILURES = frozenset({"error", "insufficient_system_resource"})


class ChatStream(AnswerReader):
    """One answer from its bytes, cut anywhere. `begins_thinking`: it begins within its reasoning."""

    def __init__(self, *, begins_thinking: bool = False) -> None:
        super().__init__()
        self._calls = CallReader()
        self._reasoning = ReasoningReader()
        self._thinking = ThinkReader(is_opened=begins_thinking)
        self._logprobs: tuple[Json, ...] = ()
        self._is_told_by_deltas = False
        self._done = False
        self._reason: StopReason | None = None

    def close(self) -> list[Part]:
        """The rest of the answer, `Stop` at its end. Raises `ProtocolError` when it failed or was cut off."""
        parts = self._read_rest()
        if self._reason is None and not self._done:
            raise cut_off()
        self._end_content(parts)
        self._end_reasoning(parts)
        self._check()
        parts.append(Stop(self._reason or "stop"))
        return parts

    def _read_word(self, word: str) -> None:
        if word == "[DONE]":
            self._done = self.finished = True

    def _read_object(self, name: str | None, told: Json, parts: list[Part]) -> None:
        if name == "error":
            self._fail(from_stream_error(told.get("error") or told))
        else:
            self._read_chunk(told, "delta", parts)

    def _read_whole(self, body: Json, parts: list[Part]) -> None:
        self._read_chunk(body, "message", parts)
        # A whole body needs no finish reason: that it parsed shows that nothing is missing, if it answered at
        # all.
        self._done = bool(body.get("choices"))

    def _read_chunk(self, chunk: Json, field: str, parts: list[Part]) -> None:
        error = chunk.get("error") or (chunk if chunk.get("object") == "error" else None)
        if error:
            self._fail(from_stream_error(error))
            return
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._read_choice(choice, field, parts)
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            parts.append(read_usage(usage))

    def _read_choice(self, choice: Json, field: str, parts: list[Part]) -> None:
        if choice.get("error"):
            self._fail(from_stream_error(choice["error"]))
            return
        # Some servers stream whole messages, some answer a plain request with a delta.
        message = choice.get(field) or choice.get("message") or choice.get("delta")
        if isinstance(message, dict):
            if not choice.get(field) and self._is_told_by_deltas:
                # Some tell the whole message again at the end of its deltas. Calls that are told twice do no harm.
                message = {name: message.get(name) for name in ("tool_calls", "function_call")}
            self._is_told_by_deltas |= "delta" in choice and bool(message.get("content"))
            self._read_message(message, choice.get("logprobs"), parts)
        usage = choice.get("usage")
        if isinstance(usage, dict):
            parts.append(read_usage(usage))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._read_reason(reason.lower())

    def _read_message(self, message: Json, logprobs: Any, parts: list[Part]) -> None:
        reasoning = self._reasoning.read(message)
        if reasoning:
            self._end_content(parts)
            parts.append(ReasoningDelta(_REASONING, reasoning))
        said: list[Part] = []
        self._read_answer(message, logprobs, said)
        if said:
            # Its state belongs to the reasoning, which ends here.
            self._end_reasoning(parts)
            parts += said

    def _end_reasoning(self, parts: list[Part]) -> None:
        try:
            parts += self._reasoning.report()
        except ValueError:
            self._fail(model_error("The model's answer has values that are nested too deeply."))

    def _read_answer(self, message: Json, logprobs: Any, parts: list[Part]) -> None:
        content = message.get("content")
        if type(content) is str:
            if content:
                self._read_content(content, read_logprobs(logprobs) if logprobs else (), parts)
        elif isinstance(content, list):
            self._end_content(parts)
            parts += _content_parts(content)
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._end_content(parts)
            parts.append(RefusalDelta(_REFUSAL, refusal))
        if message.get("tool_calls") or message.get("function_call"):
            self._end_content(parts)
            self._read_calls(message, parts)

    def _read_content(self, content: str, logprobs: tuple[Json, ...], parts: list[Part]) -> None:
        if self._thinking.is_text:
            parts.append(TextDelta(_TEXT, content, logprobs))
            return
        # Text that had to wait comes with its tokens; those of tags and of reasoning are nobody's.
        self._logprobs += logprobs
        self._tell_content(*self._thinking.read(content), parts)

    def _end_content(self, parts: list[Part]) -> None:
        if not self._thinking.is_text:
            self._tell_content(*self._thinking.close(), parts)

    def _tell_content(self, thought: str, text: str, parts: list[Part]) -> None:
        if thought:
            self._logprobs = ()
            parts.append(ReasoningDelta(_REASONING, thought))
        if text:
            logprobs, self._logprobs = self._logprobs, ()
            parts.append(TextDelta(_TEXT, text, logprobs))

    def _read_calls(self, message: Json, parts: list[Part]) -> None:
        try:
            parts += self._calls.read(message.get("tool_calls"))
            parts += self._calls.read_legacy(message.get("function_call"))
        except ProtocolError as failure:
            self._fail(failure)

    def _read_reason(self, reason: str) -> None:
        if reason in _FAILURES:
            self._fail(model_error("The backend failed while it generated the answer."))
        # Whatever else is told ("stop", "eos", "end_turn", a stop string) is some way of having ended well.
        self._reason = _REASONS.get(reason, "stop")


def _content_parts(content: list[Any]) -> list[Part]:
    """Content as a list: text parts, and the thinking that some servers put among them."""
    parts: list[Part] = []
    for piece in content:
        if isinstance(piece, str):
            parts.append(TextDelta(_TEXT, piece))
        elif not isinstance(piece, dict):
            continue
        elif isinstance(piece.get("thinking"), list):
            parts.append(ReasoningDelta(_REASONING, join_texts(piece["thinking"])))
        elif isinstance(piece.get("refusal"), str):
            parts.append(RefusalDelta(_REFUSAL, piece["refusal"]))
        elif isinstance(piece.get("text"), str):
            parts.append(TextDelta(_TEXT, piece["text"]))
    return parts
