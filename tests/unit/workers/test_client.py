"""The upstream client against a real server on loopback: real bytes, real ends."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.job import Job
from tests.unit.workers.builders import DONE, chunk, event, make_job
from tests.unit.workers.server import Exchange, free_port, upstream
from workers.backends.client import UpstreamClient
from workers.backends.credentials import by_variable
from workers.backends.parts import Part, Stop, TextDelta

KEY = "sk-robin-0123456789"
FOREVER = 30


async def answer_shortly(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.piece(chunk({"content": "hi"}))
    await exchange.piece(chunk(finish="stop") + DONE)
    await exchange.end()


async def ask(job: Job) -> list[Part]:
    async with UpstreamClient(secret=by_variable({"SPARROW_KEY": KEY}.get)) as client:
        return [part async for parts in client.stream(job) for part in parts]


async def told_and_error(
    job: Job, on_parts: Callable[[], None] = lambda: None
) -> tuple[list[Part], ProtocolError]:
    """What was told before the call failed, and what it failed with."""
    told: list[Part] = []

    async def listen() -> None:
        async with UpstreamClient(secret=by_variable({"SPARROW_KEY": KEY}.get)) as client:
            async for parts in client.stream(job):
                told.extend(parts)
                if parts:
                    on_parts()

    with pytest.raises(ProtocolError) as caught:
        await listen()
    return told, caught.value


async def error_of(job: Job) -> ProtocolError:
    told, error = await told_and_error(job)
    assert not told
    return error


async def test_it_sends_the_mapped_request_and_returns_the_parts() -> None:
    async with upstream(answer_shortly) as server:
        parts = await ask(make_job(server.url + "/", input="hello"))
    headers, body = server.requests[0]
    assert parts == [TextDelta("content", "hi"), Stop("stop")]
    assert headers["request-line"] == "POST /v1/chat/completions HTTP/1.1"
    assert body["messages"] == [{"role": "user", "content": "hello"}]
    assert "authorization" not in headers


async def test_it_sends_the_credential_of_the_backend() -> None:
    async with upstream(answer_shortly) as server:
        await ask(make_job(server.url, api_key_env="SPARROW_KEY"))
    assert server.requests[0][0]["authorization"] == f"Bearer {KEY}"


async def test_a_missing_credential_is_told_before_any_call() -> None:
    async with upstream(answer_shortly) as server:
        error = await error_of(make_job(server.url, api_key_env="OTHER_KEY"))
    assert (error.status, error.type) == (500, "model_error")
    assert server.connections == 0


async def test_the_first_list_is_empty_and_comes_before_the_first_byte_of_the_body() -> None:
    go_on = asyncio.Event()

    async def wait_for_the_client(exchange: Exchange) -> None:
        await exchange.head()
        await go_on.wait()
        await exchange.piece(chunk({"content": "x"}, "stop") + DONE)
        await exchange.end()

    async with upstream(wait_for_the_client) as server, UpstreamClient() as client:
        answer = client.stream(make_job(server.url))
        assert await anext(answer) == []
        go_on.set()
        assert [part async for parts in answer for part in parts] == [TextDelta("content", "x"), Stop("stop")]


async def test_a_finished_answer_leaves_the_connection_for_the_next_one() -> None:
    async with upstream(answer_shortly) as server, UpstreamClient() as client:
        for _ in range(3):
            assert [parts async for parts in client.stream(make_job(server.url))]
    assert (server.connections, len(server.requests)) == (1, 3)


@pytest.mark.parametrize("end", ["cut", "reset"])
async def test_a_kept_connection_that_its_server_closes_is_replaced_by_a_new_one(end: str) -> None:
    async def answer_the_first_alone(exchange: Exchange) -> None:
        if len(server.requests) == 2:
            getattr(exchange, end)()
        else:
            await answer_shortly(exchange)

    async with upstream(answer_the_first_alone) as server, UpstreamClient() as client:
        for _ in range(2):
            parts = [part async for parts in client.stream(make_job(server.url)) for part in parts]
            assert parts == [TextDelta("content", "hi"), Stop("stop")]
    assert (server.connections, len(server.requests)) == (2, 3)


@pytest.mark.parametrize("end", ["cut", "reset"])
async def test_a_new_connection_that_is_closed_without_an_answer_is_asked_once(end: str) -> None:
    async def say_nothing(exchange: Exchange) -> None:
        getattr(exchange, end)()

    async with upstream(say_nothing) as server:
        error = await error_of(make_job(server.url))
    assert (error.type, len(server.requests)) == ("model_error", 1)


async def test_an_answer_ends_with_done_although_the_server_keeps_the_body_open() -> None:
    async def never_end(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.piece(chunk({"content": "x"}) + DONE)
        await exchange.until_hung_up()

    async with upstream(never_end) as server:
        async with asyncio.timeout(FOREVER):
            assert (await ask(make_job(server.url)))[-1] == Stop("stop")
            await server.hung_up.wait()


async def test_closing_the_iterator_closes_the_connection_at_once() -> None:
    async def drip(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.piece(chunk({"content": "x"}))
        await exchange.until_hung_up()

    async with upstream(drip) as server, UpstreamClient() as client:
        async with aclosing(client.stream(make_job(server.url))) as answer:
            assert await anext(answer) == []
            assert await anext(answer) == [TextDelta("content", "x")]
        async with asyncio.timeout(FOREVER):
            await server.hung_up.wait()


@pytest.mark.parametrize("with_head", [True, False])
async def test_cancelling_the_task_closes_the_connection_at_once(with_head: bool) -> None:
    reached = asyncio.Event()

    async def hang(exchange: Exchange) -> None:
        if with_head:
            await exchange.head()
        reached.set()
        await exchange.until_hung_up()

    async with upstream(hang) as server, UpstreamClient() as client:

        async def consume() -> None:
            async with aclosing(client.stream(make_job(server.url))) as answer:
                async for _ in answer:
                    pass

        task = asyncio.ensure_future(consume())
        async with asyncio.timeout(FOREVER):
            await reached.wait()
            task.cancel()
            await server.hung_up.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_backend_that_is_down_cannot_be_reached() -> None:
    error = await error_of(make_job(f"http://127.0.0.1:{free_port()}/v1"))
    assert (error.status, error.type, error.code) == (500, "model_error", "upstream_error")
    assert "127.0.0.1" not in error.message


async def test_an_unknown_host_cannot_be_reached() -> None:
    error = await error_of(make_job("http://sparrow.invalid/v1"))
    assert (error.status, error.code) == (500, "upstream_error")
    assert "sparrow.invalid" not in error.message


async def test_silence_before_the_answer_times_out() -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.until_hung_up()

    async with upstream(hang) as server:
        error = await error_of(make_job(server.url, connect_timeout=0.05, first_byte_timeout=0.05))
    assert (error.status, error.type, error.code) == (500, "model_error", "upstream_timeout")


async def test_silence_after_the_headers_times_out() -> None:
    async def hang(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.until_hung_up()

    async with upstream(hang) as server:
        error = await error_of(make_job(server.url, connect_timeout=0.05, first_byte_timeout=0.05))
    assert error.code == "upstream_timeout"


async def test_silence_in_the_middle_times_out_after_the_parts_before_it() -> None:
    async def stall(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.piece(chunk({"content": "x"}))
        await exchange.until_hung_up()

    async with upstream(stall) as server:
        seen, error = await told_and_error(make_job(server.url, idle_timeout=0.05))
    assert seen == [TextDelta("content", "x")]
    assert error.code == "upstream_timeout"


async def test_an_endless_answer_ends_at_the_total_timeout() -> None:
    async def babble(exchange: Exchange) -> None:
        await exchange.head()
        while True:
            await exchange.piece(chunk({"content": "x"}))
            await asyncio.sleep(0)

    async with upstream(babble) as server:
        _, error = await told_and_error(make_job(server.url, total_timeout=0.1))
    assert error.code == "upstream_timeout"


@pytest.mark.parametrize("end", ["cut", "reset", "end"])
async def test_an_answer_without_its_end_is_an_error_after_the_parts_before_it(end: str) -> None:
    read = asyncio.Event()

    async def break_off(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.piece(chunk({"content": "half"}))
        await read.wait()
        if end == "end":
            await exchange.end()
        else:
            getattr(exchange, end)()

    async with upstream(break_off) as server:
        seen, error = await told_and_error(make_job(server.url), on_parts=read.set)
    assert seen == [TextDelta("content", "half")]
    assert (error.type, error.code) == ("model_error", "upstream_error")


async def test_an_error_object_in_a_good_answer_is_raised_after_the_parts_before_it() -> None:
    async def die(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.piece(chunk({"content": "par"}) + event({"error": {"message": "it died"}}) + DONE)
        await exchange.end()

    async with upstream(die) as server:
        seen, error = await told_and_error(make_job(server.url))
    assert seen == [TextDelta("content", "par")]
    assert error.type == "model_error"


async def test_a_rate_limit_keeps_its_retry_after() -> None:
    async def limit(exchange: Exchange) -> None:
        await exchange.head(429, retry_after="41", content_type="application/json")
        await exchange.piece(b'{"error":{"message":"slow down"}}')
        await exchange.end()

    async with upstream(limit) as server:
        error = await error_of(make_job(server.url))
    assert (error.status, error.type, error.retry_after) == (429, "too_many_requests", 41.0)


async def test_the_words_of_a_refusal_come_without_our_key_and_the_address() -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.head(400)
        body = '{"error":{"message":"temperature is odd, says ' + server.url + " to " + KEY + '"}}'
        await exchange.piece(body.encode())
        await exchange.end()

    async with upstream(refuse) as server:
        error = await error_of(make_job(server.url, api_key_env="SPARROW_KEY"))
    assert (error.status, error.code) == (400, "upstream_rejected")
    assert "temperature is odd" in error.message
    assert KEY not in error.message
    assert "127.0.0.1" not in error.message


async def test_an_error_whose_body_never_comes_is_told_by_its_status() -> None:
    async def refuse_and_hang(exchange: Exchange) -> None:
        await exchange.head(502)
        await exchange.until_hung_up()

    async with upstream(refuse_and_hang) as server:
        error = await error_of(make_job(server.url, connect_timeout=1.0, first_byte_timeout=1.0))
    assert (error.status, error.type, error.code) == (500, "model_error", "upstream_error")


async def test_redirects_are_not_followed() -> None:
    async def redirect(exchange: Exchange) -> None:
        await exchange.head(307, location=server.url + "/elsewhere")
        await exchange.end()

    async with upstream(redirect) as server:
        error = await error_of(make_job(server.url))
    assert error.type == "model_error"
    assert len(server.requests) == 1


async def test_what_cannot_be_mapped_is_refused_without_a_call() -> None:
    item = {"role": "user", "content": [{"type": "input_file", "file_url": "https://files.test/a.pdf"}]}
    async with upstream(answer_shortly) as server:
        error = await error_of(make_job(server.url, input=[item]))
    assert (error.status, error.param) == (400, "input[0].content[0].file_url")
    assert server.connections == 0


async def test_many_answers_at_once_keep_apart() -> None:
    async def echo(exchange: Exchange) -> None:
        await exchange.head()
        text = server.requests[-1][1]["messages"][0]["content"]
        for letter in text:
            await exchange.piece(chunk({"content": letter}))
        await exchange.piece(chunk(finish="stop") + DONE)
        await exchange.end()

    async def text_of(client: UpstreamClient, said: str) -> str:
        parts = [part async for parts in client.stream(make_job(server.url, input=said)) for part in parts]
        return "".join(part.text for part in parts if isinstance(part, TextDelta))

    async with upstream(echo) as server, UpstreamClient() as client:
        said = [f"word {n}" for n in range(20)]
        assert await asyncio.gather(*(text_of(client, text) for text in said)) == said
