"""How many tokens a model reads of a request: counted here, or by a backend that can.

Counted here, it is an estimate for every model but those whose vocabulary it is: the texts in the tokens of o200k_base,
and by rule what is no text.

| what | tokens |
| --- | --- |
| a message | 4 beside its texts, for its role and its ends |
| the beginning of the answer | 3 |
| tools and an answer's schema | those of their JSON |
| a tool call | those of its name and its arguments, and 3 |
| an image | 85 with `detail: low`, else 765: what a picture of 1024 × 1024 costs at OpenAI |
| a file | one for four bytes of its content |
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import toktok

from responses_api.protocol.plain import Json
from responses_api.protocol.sse import encode

VOCABULARY = "o200k_base"

MESSAGE_TOKENS = 4
ANSWER_TOKENS = 3
CALL_TOKENS = 3
LOW_IMAGE_TOKENS = 85
IMAGE_TOKENS = 765
_FILE_BYTES_PER_TOKEN = 4
_BASE64_BYTES_PER_CHARACTER = 3 / 4


@dataclass(slots=True)
class Reading:
    """What a model reads of a request: its texts, and the tokens of everything else."""

    texts: list[str] = field(default_factory=list)
    tokens: int = 0

    def add_json(self, value: Any) -> None:
        """Something that is read as JSON."""
        self.texts.append(encode(value).decode())

    def add_image(self, detail: str | None) -> None:
        """An image, whatever its size."""
        self.tokens += LOW_IMAGE_TOKENS if detail == "low" else IMAGE_TOKENS

    def add_file(self, base64: str) -> None:
        """A file's content."""
        self.tokens += int(len(base64) * _BASE64_BYTES_PER_CHARACTER / _FILE_BYTES_PER_TOKEN)

    def count(self) -> int:
        """The tokens of it all. Computes, and takes most of a second where `load` was not called: for threads."""
        counts: list[int] = toktok.batch_count(self.texts, VOCABULARY, threads=1)
        return self.tokens + sum(counts)


def load() -> None:
    """Load the vocabulary, so that no request waits for it."""
    Reading([""]).count()


@dataclass(frozen=True, slots=True)
class UpstreamCounter:
    """A counting endpoint: its address from the base URL and the upstream's name of the model, its body from that of a
    request and the same name, and where its answer has the number.
    """

    url: Callable[[str, str], str]
    body: Callable[[Json, str], Json]
    field: str

    def count_in(self, answer: Any) -> int:
        """The number in an answer. Raises ValueError where there is none."""
        count = answer.get(self.field) if isinstance(answer, dict) else None
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError(f"no '{self.field}' in the answer")
        return count


def _below(path: str) -> Callable[[str, str], str]:
    return lambda base_url, model: base_url + path


def _beside_version(base_url: str, model: str) -> str:
    """vLLM has it at its root, while the base URL goes up to the version."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(path=parts.path.removesuffix("/v1") + "/tokenize"))


def _only(*names: str) -> Callable[[Json, str], Json]:
    return lambda body, model: {name: body[name] for name in names if name in body}


def gemini_model(model: str) -> str:
    """A model's name as Gemini's addresses have it: those of tuned models say themselves what they are."""
    return quote(model if "/" in model else f"models/{model}", safe="/@:")


def _whole_request(body: Json, model: str) -> Json:
    """Without this wrapping only the contents would be counted."""
    return {"generateContentRequest": {"model": gemini_model(model), **body}}


def _without_stream(body: Json, model: str) -> Json:
    return {name: value for name, value in body.items() if name not in ("stream", "stream_options")}


UPSTREAM_COUNTERS: dict[str, UpstreamCounter] = {
    "llama_cpp": UpstreamCounter(
        url=_below("/chat/completions/input_tokens"), body=_without_stream, field="input_tokens"
    ),
    "anthropic": UpstreamCounter(
        url=_below("/messages/count_tokens"),
        body=_only("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"),
        field="input_tokens",
    ),
    "gemini": UpstreamCounter(
        url=lambda base_url, model: f"{base_url}/{gemini_model(model)}:countTokens",
        body=_whole_request,
        field="totalTokens",
    ),
    "responses": UpstreamCounter(
        url=_below("/responses/input_tokens"),
        body=_only(
            "model",
            "input",
            "instructions",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "text",
            "reasoning",
        ),
        field="input_tokens",
    ),
    "vllm": UpstreamCounter(url=_beside_version, body=_only("model", "messages", "tools"), field="count"),
}
"""By the name that a backend's row has for it; "local" is none of them."""
