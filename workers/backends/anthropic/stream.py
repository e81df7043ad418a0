"""Messages answers, streamed or whole, as parts.

The reading rules:

- a stream is whole when it told `message_stop`; anything else was cut off;
- events, blocks and deltas of kinds that nobody knows here (pings, what the upstream's own tools did) tell nothing;
- a message that the upstream paused goes back to it, and what it says then belongs to the same answer;
- where a tool takes the answer, what it is called with is the text, and text beside it is none.
"""

from typing import Any, Final

from responses_api.protocol.errors import ProtocolError, model_error
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import SseEvent
from workers.backends.anthropic.blocks import Block
from workers.backends.anthropic.form import HeldText
from workers.backends.anthropic.usage import UsageReader
from workers.backends.errors import cut_off, from_stream_error
from workers.backends.parts import Part, RefusalDelta, Stop, StopReason
from workers.backends.reader import AnswerReader
from workers.backends.wire import AnswerBytes

_PAUSED: Final = "pause_turn"
_MOST_PAUSES: Final = 16
_REASONS: Final[dict[str, StopReason]] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}
_IMPLIED: Final = {
    "text_delta": {"type": "text"},
    "thinking_delta": {"type": "thinking"},
    "signature_delta": {"type": "thinking"},
}


class MessagesStream(AnswerReader):
    """One answer from its bytes, cut anywhere.

    `summarises`: what is told of thinking is a summary of it. `answer_tool` is the tool that takes the answer, if one
    does.
    """

    def __init__(self, *, summarises: bool = False, answer_tool: str | None = None) -> None:
        super().__init__()
        self._summarises = summarises
        self._answer_tool = answer_tool
        self._form = HeldText() if answer_tool is not None else None
        self._usage = UsageReader()
        self._pauses = 0
        self._begin()

    def close(self) -> list[Part]:
        """The rest of the message, `Stop` at its end unless it was paused. Raises `ProtocolError` when it failed."""
        parts = self._read_rest()
        if not self._done:
            raise cut_off()
        if self._reason == _PAUSED:
            self._check_pause()
            return parts
        reason = _REASONS.get(self._reason, "stop")
        rest = self._form.rest(reason) if self._form is not None else []
        return [*parts, *rest, Stop(reason)]

    def resume(self, body: Json) -> Json | None:
        """After `close`: the request that goes on with a message that was paused, made of the one it answered; its
        answer is read next. None where the answer has ended. Raises `ProtocolError` for what cannot go back.
        """
        if self._reason != _PAUSED:
            return None
        try:
            said = [block.whole() for block in self._blocks.values()]
        except ValueError:
            raise _too_deep() from None
        self._pauses += 1
        left = _left(body, self._usage.next_message())
        self.finished = False
        self._bytes = AnswerBytes()
        self._begin()
        return {**body, **left, "messages": [*body["messages"], {"role": "assistant", "content": said}]}

    def _begin(self) -> None:
        self._blocks: dict[Any, Block] = {}
        self._open: list[Block] = []
        self._reason = ""
        self._done = False

    def _check_pause(self) -> None:
        if self._pauses == _MOST_PAUSES or not self._blocks:
            raise model_error("The model's backend paused its answer and did not go on with it.")

    # ------------------------------------------------------------------ events

    def _read_events(self, events: list[SseEvent]) -> list[Part]:
        return self._in_form(super()._read_events(events))

    def _read_object(self, name: str | None, told: Json, parts: list[Part]) -> None:
        parts += self._read_told(told.get("type") or name, told)

    def _read_told(self, kind: Any, told: Json) -> list[Part]:
        if kind == "error" or told.get("error"):
            return self._failed(from_stream_error(told.get("error") or told))
        if kind == "message_start":
            message = told.get("message")
            return [*self._usage.read(message.get("usage"))] if isinstance(message, dict) else []
        if kind == "content_block_start":
            return self._start_block(told.get("index"), told.get("content_block"))
        if kind == "content_block_delta":
            return self._grow_block(told.get("index"), told.get("delta"))
        if kind == "content_block_stop":
            return self._end_block(self._blocks.get(_key(told.get("index"))))
        if kind == "message_delta":
            return [*self._read_end(told.get("delta")), *self._usage.read(told.get("usage"))]
        if kind == "message_stop":
            self._done = self.finished = True
            return self._end_blocks()
        return []

    def _read_whole(self, body: Json, parts: list[Part]) -> None:
        parts += self._in_form(self._read_message(body))

    def _read_message(self, told: Json) -> list[Part]:
        if told.get("type") == "error" or told.get("error"):
            return self._failed(from_stream_error(told.get("error") or told))
        content = told.get("content")
        parts: list[Part] = []
        for index, block in enumerate(content if isinstance(content, list) else ()):
            parts += self._start_block(index, block)
        parts += self._end_blocks()
        parts += self._read_end(told)
        # A whole body needs no stop reason: that it parsed shows that nothing is missing, if it answered at all.
        self._done = isinstance(content, list)
        return [*parts, *self._usage.read(told.get("usage"))]

    # ------------------------------------------------------------------ blocks

    def _start_block(self, index: Any, told: Any) -> list[Part]:
        if not isinstance(told, dict):
            return []
        # A message announces its next block when the one before has ended.
        parts = self._end_blocks()
        is_answer = (
            self._form is not None
            and told.get("type") == "tool_use"
            and told.get("name") == self._answer_tool
        )
        key = _key(index)
        block = Block((self._pauses, key), told, summarises=self._summarises, is_answer=is_answer)
        if is_answer and self._form is not None:
            self._form.answered((self._pauses, key))
        self._blocks[key] = block
        self._open.append(block)
        return [*parts, *block.begin()]

    def _grow_block(self, index: Any, delta: Any) -> list[Part]:
        if not isinstance(delta, dict):
            return []
        block, parts = self._blocks.get(_key(index)), list[Part]()
        if block is None:
            parts = self._start_block(index, _IMPLIED.get(str(delta.get("type"))))
            block = self._blocks.get(_key(index))
        return parts if block is None else [*parts, *block.grow(delta)]

    def _end_block(self, block: Block | None) -> list[Part]:
        if block is None or block not in self._open:
            return []
        self._open.remove(block)
        try:
            return block.end()
        except ProtocolError as failure:
            return self._failed(failure)
        except ValueError:
            return self._failed(_too_deep())

    def _end_blocks(self) -> list[Part]:
        return [part for block in list(self._open) for part in self._end_block(block)]

    def _read_end(self, told: Any) -> list[Part]:
        """The stop reason, and what a refusal says for itself."""
        if not isinstance(told, dict):
            return []
        reason, details = told.get("stop_reason"), told.get("stop_details")
        if isinstance(reason, str) and reason:
            self._reason = reason
        words = details.get("explanation") if isinstance(details, dict) and reason == "refusal" else None
        return [RefusalDelta("refusal", words)] if isinstance(words, str) and words else []

    def _in_form(self, parts: list[Part]) -> list[Part]:
        return parts if self._form is None else self._form.hold(parts)

    def _failed(self, failure: ProtocolError) -> list[Part]:
        self._fail(failure)
        return []


def _left(body: Json, said: int) -> Json:
    """How long the rest of an answer may be of which so many tokens were said. Where nothing is left, as short as the
    format admits: the answer ends there by itself.
    """
    if "max_tokens" not in body:
        return {}
    least = (body.get("thinking") or {}).get("budget_tokens", 0) + 1
    return {"max_tokens": max(least, body["max_tokens"] - said)}


def _too_deep() -> ProtocolError:
    return model_error("The model's answer has values that are nested too deeply.")


def _key(index: Any) -> Any:
    return index if isinstance(index, int | str) else None
