"""An errand's answer is told once, and so is whatever else ends it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import orjson
import pytest

from responses_api.eventlog.message import Kind, Message
from responses_api.eventlog.publish import Address, Publisher
from responses_api.protocol.errors import invalid_request
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import make_job
from workers.errand import Errand

JOB = make_job()


class Told:
    """What a publisher was given."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.addresses: list[Address] = []

    def publish(self, address: Address, message: Message) -> None:
        """Keep it."""
        self.addresses.append(address)
        self.messages.append(message)


def errand(told: Told, answer: Callable[[Job], Awaitable[Json]]) -> Errand:
    return Errand(JOB, "worker", cast(Publisher, told), lambda job, _: answer(job))


async def run(answer: Callable[[Job], Awaitable[Json]]) -> Told:
    told = Told()
    await errand(told, answer).run()
    return told


async def test_the_answer_is_told_and_nothing_is_kept() -> None:
    async def answer(job: Job) -> Json:
        return {"response": job.response_id}

    told = await run(answer)
    (message,) = told.messages
    assert (message.kind, orjson.loads(message.body)) == (Kind.ANSWER, {"response": JOB.response_id})
    assert not told.addresses[0].journal
    assert not told.addresses[0].keep_journal


async def test_a_refusal_is_told_as_it_is_and_a_fault_without_its_words() -> None:
    async def refuse(job: Job) -> Json:
        raise invalid_request("No.", param="input")

    async def fail(job: Job) -> Json:
        raise RuntimeError("secret")

    (refused,) = (await run(refuse)).messages
    assert (refused.kind, orjson.loads(refused.body)["param"]) == (Kind.REJECT, "input")
    (failed,) = (await run(fail)).messages
    assert orjson.loads(failed.body)["status"] == 500
    assert b"secret" not in failed.body


@pytest.mark.parametrize(
    ("interrupt", "code"),
    [(Errand.cancel, "cancelled"), (Errand.stop, "worker_lost"), (Errand.abandon, None)],
)
async def test_an_interrupted_errand_ends_at_once_and_an_abandoned_one_in_silence(
    interrupt: Callable[[Errand], None], code: str | None
) -> None:
    begun = asyncio.Event()

    async def wait(job: Job) -> Json:
        begun.set()
        await asyncio.Event().wait()
        return {}

    told = Told()
    waiting = errand(told, wait)
    running = asyncio.create_task(waiting.run())
    await begun.wait()
    interrupt(waiting)
    interrupt(waiting)
    await running
    assert [orjson.loads(message.body)["code"] for message in told.messages] == ([code] if code else [])
    interrupt(waiting)
