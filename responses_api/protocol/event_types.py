"""The names of the streaming events.

Specification: "Streaming"; one name for each `Response…StreamingEvent` schema.
"""

from typing import Literal

Dialect = Literal["open", "openai"]
"""Whose names raw reasoning has, and the receipts of tools that the service runs: this specification's with our prefix,
or OpenAI's. Nothing else differs.
"""

CREATED = "response.created"
QUEUED = "response.queued"
IN_PROGRESS = "response.in_progress"
COMPLETED = "response.completed"
FAILED = "response.failed"
INCOMPLETE = "response.incomplete"
OUTPUT_ITEM_ADDED = "response.output_item.added"
OUTPUT_ITEM_DONE = "response.output_item.done"
CONTENT_PART_ADDED = "response.content_part.added"
CONTENT_PART_DONE = "response.content_part.done"
OUTPUT_TEXT_DELTA = "response.output_text.delta"
OUTPUT_TEXT_DONE = "response.output_text.done"
OUTPUT_TEXT_ANNOTATION_ADDED = "response.output_text.annotation.added"
REFUSAL_DELTA = "response.refusal.delta"
REFUSAL_DONE = "response.refusal.done"
REASONING_DELTA = "response.reasoning.delta"
REASONING_DONE = "response.reasoning.done"
REASONING_TEXT_DELTA = "response.reasoning_text.delta"
REASONING_TEXT_DONE = "response.reasoning_text.done"
REASONING_SUMMARY_PART_ADDED = "response.reasoning_summary_part.added"
REASONING_SUMMARY_PART_DONE = "response.reasoning_summary_part.done"
REASONING_SUMMARY_TEXT_DELTA = "response.reasoning_summary_text.delta"
REASONING_SUMMARY_TEXT_DONE = "response.reasoning_summary_text.done"
FUNCTION_CALL_ARGUMENTS_DELTA = "response.function_call_arguments.delta"
FUNCTION_CALL_ARGUMENTS_DONE = "response.function_call_arguments.done"
ERROR = "error"
TRUNCATION = "antiphon:truncation"
"""Ours: what was dropped from the input. A field of the response has the same name."""

TERMINAL_TYPES = frozenset({COMPLETED, FAILED, INCOMPLETE})
"""The events that end a stream."""

SNAPSHOT_TYPES = TERMINAL_TYPES | {CREATED, QUEUED, IN_PROGRESS}
"""The events that carry a whole response."""

PADDED_TYPES = frozenset(
    {
        OUTPUT_TEXT_DELTA,
        REASONING_DELTA,
        REASONING_TEXT_DELTA,
        REASONING_SUMMARY_TEXT_DELTA,
        FUNCTION_CALL_ARGUMENTS_DELTA,
    }
)
"""The deltas whose schema has `obfuscation`; that of a refusal has not."""

REASONING_DELTA_TYPES: dict[Dialect, str] = {"open": REASONING_DELTA, "openai": REASONING_TEXT_DELTA}
REASONING_DONE_TYPES: dict[Dialect, str] = {"open": REASONING_DONE, "openai": REASONING_TEXT_DONE}
