"""The server under test, as one rule meets it: calls with the run's key and model, every exchange kept."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from responses_api.conformance.outcomes import Broken, NotApplicable, NotShown
from responses_api.conformance.told import Told, read_told
from responses_api.conformance.wire import Answer, OnWrite, Wire, no_answer
from responses_api.protocol.plain import Json

Found = TypeVar("Found")
_NOT_OFFERED_CODES = {"unsupported_endpoint", "unsupported_value", "unsupported_parameter"}
_NOT_OFFERED_STATUSES = {404, 405, 501}


@dataclass(frozen=True, slots=True)
class Target:
    """What is tested, and how. Times are in seconds; an option of None makes rules that need it not applicable."""

    base_url: str
    api_key: str
    model: str
    other_key: str | None = None
    websocket_limit: float | None = None
    context_window: int | None = None
    timeout: float = 60.0
    headers: Mapping[str, str] = field(default_factory=dict)
    """What every call sends besides."""


@dataclass(slots=True)
class Evidence:
    """What several rules look at is fetched once in a run; and every answer that was seen in it."""

    found: dict[str, asyncio.Task[Any]] = field(default_factory=dict)
    limited: list[Answer] = field(default_factory=list)
    """The answers with status 429."""


class Server:
    """Calls of one key. Raises `Broken` where the connection fails."""

    def __init__(self, target: Target, wire: Wire, evidence: Evidence, key: str | None = None) -> None:
        self.target = target
        self.wire = wire
        self.answers: list[Answer] = []
        """Every answer so far, the latest last."""
        self._evidence = evidence
        self._key = key or target.api_key

    @property
    def limited(self) -> list[Answer]:
        """The answers of the whole run so far with status 429."""
        return self._evidence.limited

    @property
    def authorization(self) -> dict[str, str]:
        """The header that tells the key."""
        return {"Authorization": f"Bearer {self._key}"}

    def other(self) -> "Server":
        """The same server with the other tenant's key. Raises `NotApplicable` without `--other-key`."""
        if self.target.other_key is None:
            raise NotApplicable("needs --other-key, the key of another tenant")
        stranger = Server(self.target, self.wire, self._evidence, self.target.other_key)
        stranger.answers = self.answers
        return stranger

    async def once(self, name: str, make: Callable[["Server"], Awaitable[Found]]) -> Found:
        """What `make` finds, fetched once in the run. What it raises is raised to every rule that asks."""
        task = self._evidence.found.get(name)
        if task is None:
            fetcher = Server(self.target, self.wire, self._evidence)
            task = asyncio.ensure_future(make(fetcher))
            self._evidence.found[name] = task
        found: Found = await asyncio.shield(task)
        return found

    # ---- calls

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        on_write: OnWrite | None = None,
    ) -> Answer:
        """One call, with the key unless `headers` say otherwise."""
        given = {**self.target.headers, **self.authorization, **(headers or {})}
        try:
            answer = await self.wire.send(method, path, body, headers=given, on_write=on_write)
        except Broken:
            self.answers.append(no_answer(method, path, body))
            raise
        self.see(answer)
        return answer

    async def get(self, path: str) -> Answer:
        """GET `path`, below the base URL."""
        return await self.send("GET", path)

    async def ask(self, *, headers: Mapping[str, str] | None = None, **fields: Any) -> Answer:
        """POST /responses; the run's model is filled in."""
        return await self.send("POST", "/responses", self.body(fields), headers=headers)

    async def create(self, **fields: Any) -> Json:
        """A response that the server must give: status 200 and an object.

        Raises `Broken` where it refuses, `NotShown` where the model or a limit stands in the way.
        """
        return answered(await self.ask(**fields))

    async def stream(self, *, headers: Mapping[str, str] | None = None, **fields: Any) -> Told:
        """A whole stream. Raises as `create` does."""
        answer = await self.ask(headers=headers, **fields, stream=True)
        _in_the_way(answer)
        return read_told(answer)

    def body(self, fields: Json) -> Json:
        """The body of a create call."""
        return {"model": self.target.model, **fields}

    def see(self, answer: Answer) -> Answer:
        """Keep an answer, one that was fetched for several rules too: the report shows the latest."""
        self.answers.append(answer)
        if answer.status == 429:
            self._evidence.limited.append(answer)
        return answer


def answered(answer: Answer) -> Json:
    """The object of a 200. Raises `Broken`, or `NotShown` where the model or a limit stands in the way."""
    _in_the_way(answer)
    if answer.status != 200:
        raise Broken(f"{answer.request} was refused with {answer.status}: {answer.error.get('message')}")
    return answer.json()


def offered(answer: Answer, what: str) -> Answer:
    """The answer of a call that a server need not have. Raises `NotApplicable` where it says that it has it not."""
    error = answer.error
    is_unknown = answer.status in _NOT_OFFERED_STATUSES
    if answer.status >= 400 and (is_unknown or error.get("code") in _NOT_OFFERED_CODES):
        raise NotApplicable(f"the server does not offer {what} ({answer.status})")
    return answer


def _in_the_way(answer: Answer) -> None:
    if answer.status == 429:
        raise NotShown(f"the server limits the run: {answer.error.get('message')}")
    if answer.status >= 500 and answer.error.get("type") == "model_error":
        raise NotShown(f"the model failed: {answer.error.get('message')}")


def new_word() -> str:
    """A word that no model can guess."""
    return f"cedar{secrets.randbelow(9000) + 1000}{secrets.choice('bdfghkmnprstvz')}"
