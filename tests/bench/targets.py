"""What is measured (targets) and with what (workloads)."""

from dataclasses import dataclass
from typing import Literal

import orjson

MAIN_KIND = "chat_completions"
OTHER_KINDS = ("responses", "anthropic", "gemini")
"""The kinds of backends that Antiphon is measured with besides, by streams without spacing at 32 at a time."""
PROMPT = "Count the words of this sentence and say them one after the other, please."


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of request; a whole stream has at least `min_events` events, one per delta of the stub."""

    name: Literal["stream0", "stream10", "json"]
    stream: bool
    min_events: int

    @property
    def model(self) -> str:
        """The stub's model that answers it."""
        return f"bench-{self.name}"


WORKLOADS = (
    Workload("stream0", stream=True, min_events=64),
    Workload("stream10", stream=True, min_events=64),
    Workload("json", stream=False, min_events=1),
)


@dataclass(frozen=True, slots=True)
class Target:
    """A server on loopback. `pids` are the roots of its process trees (none: it is not ours to measure).

    `stores` are the values of `store` that mean something to it; None is "not sent". `kind` is what the backend behind
    it speaks.
    """

    name: str
    port: int
    path: str
    key: str
    pids: tuple[int, ...]
    stores: tuple[bool | None, ...] = (None,)
    kind: str = MAIN_KIND

    @property
    def speaks_responses(self) -> bool:
        """Whether it serves the Responses API, or Chat Completions like the stub itself."""
        return self.path.endswith("/responses")

    @property
    def terminal(self) -> str:
        """What a whole stream contains near its end."""
        return "response.completed" if self.speaks_responses else "[DONE]"

    def model(self, workload: Workload) -> str:
        """Its own name of a workload's model."""
        return workload.model if self.kind == MAIN_KIND else f"{workload.model}-{self.kind}"

    def body(self, workload: Workload, store: bool | None) -> str:
        """The JSON body of one request."""
        asked: dict[str, object] = {"model": self.model(workload), "stream": workload.stream}
        if self.speaks_responses:
            asked["input"] = PROMPT
        else:
            asked["messages"] = [{"role": "user", "content": PROMPT}]
        if store is not None:
            asked["store"] = store
        return orjson.dumps(asked).decode()
