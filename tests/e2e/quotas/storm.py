"""A storm: clients that ask, ask again, leave and cancel, all at the same time, while workers are killed."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.support.client import Json
from tests.support.processes import Process

MODELS = ("alpha", "beta")
MODES = ("ok", "ok", "ok", "ok", "refuse", "cut", "slow", "leave", "leave at once", "background", "cancel")
LEAVES_AFTER = 3
"""Words."""


@dataclass(frozen=True, slots=True)
class Force:
    """How strong a storm is; times in seconds."""

    requests: int
    webs: int
    workers: int
    kills: int
    kill_every: float
    tries: int
    """How often a client asks that finds no room, and how long it waits in between."""
    pause: tuple[float, float]


@dataclass(slots=True)
class Seen:
    """What the clients of a storm saw, by the number of their request."""

    ids: dict[int, str] = field(default_factory=dict)
    modes: dict[int, str] = field(default_factory=dict)
    unstored: set[int] = field(default_factory=set)
    words: Counter[int] = field(default_factory=Counter)
    """So many words of an answer were told."""
    completed: set[int] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)


def asked_of(number: int, mode: str, words: int) -> str:
    """What the metered upstream is told."""
    how = mode if mode in ("refuse", "cut", "ok") else "slow"
    return f"{number} {how} {words}"


class Storm:
    """The clients of one storm against these web processes, with these keys."""

    def __init__(self, force: Force, webs: Sequence[str], keys: Sequence[str]) -> None:
        self.seen = Seen()
        self._force, self._webs, self._keys = force, webs, keys

    async def run(self, workers: Sequence[Process], look: Callable[[], None]) -> None:
        """All requests at the same time. `look` is called all the while, in a thread."""
        chance = random.Random(4)
        timeout = aiohttp.ClientTimeout(total=240)
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=timeout
        ) as self._session:
            clients = [
                asyncio.create_task(self._client(number, random.Random(chance.random())))
                for number in range(self._force.requests)
            ]
            watching = asyncio.create_task(keep_looking(look))
            await asyncio.gather(kill(workers, self._force), *clients)
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    async def _client(self, number: int, chance: random.Random) -> None:
        """Ask again while there is no room, and do with the answer what chance tells."""
        mode = self.seen.modes[number] = chance.choice(MODES)
        body = body_of(number, mode, chance)
        if not body["store"]:
            self.seen.unstored.add(number)
        headers = {"authorization": f"Bearer {chance.choice(self._keys)}"}
        for _ in range(self._force.tries):
            url = f"{chance.choice(self._webs)}/responses"
            try:
                async with self._session.post(url, json=body, headers=headers) as answer:
                    if answer.status != 429:
                        await self._take(number, body, answer, headers)
                        return
                    refused = (await answer.json())["error"]
                    self.seen.refusals[refused["code"]] += 1
                    assert int(answer.headers["retry-after"]) >= 1
            except (aiohttp.ClientError, OSError) as error:
                self.seen.outcomes[f"lost: {type(error).__name__}"] += 1
                return
            await asyncio.sleep(chance.uniform(*self._force.pause))
        self.seen.outcomes["gave up"] += 1

    async def _take(
        self, number: int, body: Json, answer: aiohttp.ClientResponse, headers: Mapping[str, str]
    ) -> None:
        """Read the answer, as far as the mode goes."""
        mode = self.seen.modes[number]
        if mode == "leave at once":
            answer.close()
            status = mode
        elif body["stream"] and answer.status == 200:
            status = await self._read(number, answer, LEAVES_AFTER if mode == "leave" else None)
        else:
            told = await answer.json()
            status = told.get("status") or f"error {told['error']['code']}"
            if "id" in told:
                self.seen.ids[number] = told["id"]
        if mode == "cancel" and status == "queued":
            url = f"{self._webs[0]}/responses/{self.seen.ids[number]}/cancel"
            async with self._session.post(url, headers=headers) as cancelled:
                status = f"cancel {cancelled.status}"
        if status in ("completed", "incomplete"):
            self.seen.completed.add(number)
        self.seen.outcomes[status] += 1

    async def _read(self, number: int, answer: aiohttp.ClientResponse, leaves_after: int | None) -> str:
        status = "cut off"
        async for line in answer.content:
            if line.startswith(b"data:") and b'"response.created"' in line:
                self.seen.ids[number] = line.split(b'"id":"', 1)[1].split(b'"', 1)[0].decode()
            elif line.startswith(b"data:") and b"output_text.delta" in line:
                self.seen.words[number] += 1
                if self.seen.words[number] == leaves_after:
                    answer.close()
                    return "left"
            elif line.startswith(b"event: response."):
                ending = line.split(b".", 1)[1].strip().decode()
                status = ending if ending in ("completed", "incomplete", "failed", "cancelled") else status
        return status


def body_of(number: int, mode: str, chance: random.Random) -> dict[str, Any]:
    """A request: stored or not, streamed or not, with a limit of its length or without."""
    in_background = mode in ("background", "cancel")
    body = {
        "model": chance.choice(MODELS),
        "input": asked_of(number, mode, chance.randrange(2, 16)),
        "metadata": {"number": str(number)},
        "store": in_background or chance.random() < 0.7,
        "background": in_background,
        "stream": mode.startswith("leave") or (mode in ("ok", "slow") and chance.random() < 0.5),
    }
    if chance.random() < 0.8:
        body["max_output_tokens"] = 16
    return body


async def kill(workers: Sequence[Process], force: Force) -> None:
    """Kill one worker after the other, and start each again."""
    for number in range(force.kills):
        await asyncio.sleep(force.kill_every)
        worker = workers[number % len(workers)]
        worker.kill()
        worker.start()


async def keep_looking(look: Callable[[], None]) -> None:
    """Look, and look again. What it finds ends the loop, and is raised to who waits for it."""
    while True:
        await asyncio.to_thread(look)
        await asyncio.sleep(0.005)
