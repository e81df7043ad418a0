"""Background responses outlive everybody: their client, the web process, a killed worker, a restart of everything."""

import openai

from tests.support.chat import chat_stream
from tests.support.checks import assert_unknown_to, checked_stream, output_text, stored_response
from tests.support.client import Client, Exchange, Json, frames, wait_until
from tests.support.service import Service
from tests.support.upstream import ScriptedUpstream

BODY = chat_stream("first", " second", " third")
PAUSE = BODY.index(b" second") - 40
BEGUN = chat_stream("fir", "st", finish=None, usage=None, done=False)


def begin(service: Service, **body: object) -> tuple[str, Exchange]:
    """A background stream that has told its first words."""
    exchange = service.friend.stream(input="Hello", background=True, **body)
    exchange.read_event("response.output_text.delta")
    return exchange.events[0]["response"]["id"], exchange


def ended(client: Client, response_id: str) -> Json:
    def look() -> Json | None:
        found = stored_response(client, response_id)
        return None if found["status"] in ("queued", "in_progress") else found

    found = wait_until(look, timeout=40, what="the end of the response")
    assert isinstance(found, dict)
    return found


def follow(client: Client, response_id: str, after: int) -> Exchange:
    exchange = client.open("GET", f"/responses/{response_id}?stream=true&starting_after={after}")
    exchange.read_all(timeout=40)
    assert exchange.status == 200, exchange.raw
    return exchange


def whole(begun: Exchange, rest: Exchange) -> Exchange:
    """A stream that was cut, with what came when it was taken up again."""
    known = begun.events[-1]["sequence_number"] + 1
    rest.chunks[:0] = [chunk for chunk in begun.chunks]
    assert rest.events[known]["sequence_number"] == known
    return rest


def test_another_worker_goes_on_with_what_a_killed_one_told(service: Service) -> None:
    service.upstream.reply(body=BEGUN, end="hang")
    response_id, exchange = begin(service)
    first = exchange.read_event("response.output_item.added")["item"]["id"]
    service.upstream.reply(body=BODY, always=True)
    service.kill_worker()
    service.start_worker()
    with exchange:
        exchange.read_all(timeout=40)
    final = checked_stream(exchange, service.friend)
    assert (final["status"], output_text(final)) == ("completed", "first second third")
    assert final["output"][0]["id"] == first
    assert frames(follow(service.friend, response_id, 4).raw) == frames(exchange.raw)[5:]
    assert_unknown_to(service.stranger, response_id)


def test_one_that_is_only_polled_survives_a_killed_worker(service: Service) -> None:
    service.upstream.reply(body=BEGUN, end="hang")
    queued = service.friend.create(input="Hello", background=True).json()
    assert queued["status"] == "queued"
    service.upstream.wait_request().wait_paused()
    service.kill_worker()
    service.start_worker()
    assert output_text(ended(service.friend, queued["id"])) == "You said: Hello"


def test_a_stream_whose_web_process_was_killed_is_taken_up_at_the_next_one(service: Service) -> None:
    service.upstream.reply(body=BODY, pause_at=PAUSE)
    response_id, exchange = begin(service)
    service.web.kill()
    service.upstream.wait_request().resume()
    service.web.start()
    service.wait_ready()
    rest = follow(service.friend, response_id, exchange.events[-1]["sequence_number"])
    final = checked_stream(whole(exchange, rest), service.friend)
    assert (final["status"], output_text(final)) == ("completed", "first second third")


def test_it_survives_a_restart_of_everything(service: Service) -> None:
    service.upstream.reply(body=BEGUN, end="hang")
    response_id, exchange = begin(service)
    polled = service.friend.create(input="Hello there", background=True).json()["id"]
    for process in (service.worker, service.web, service.beat):
        process.stop()
    service.upstream.reply(body=BODY, always=True)
    for process in (service.web, service.worker, service.beat):
        process.start()
    service.wait_ready()
    rest = follow(service.friend, response_id, exchange.events[-1]["sequence_number"])
    final = checked_stream(whole(exchange, rest), service.friend)
    assert (final["status"], output_text(final)) == ("completed", "first second third")
    assert ended(service.friend, polled)["status"] == "completed"
    assert_unknown_to(service.stranger, response_id)


def test_the_official_client_polls_resumes_and_cancels(
    app: openai.OpenAI, upstream: ScriptedUpstream, service: Service, model: str
) -> None:
    upstream.reply(body=BODY, pause_at=PAUSE)
    queued = app.responses.create(model=model, input="Hello", background=True)
    assert queued.status == "queued"
    upstream.wait_request().wait_paused()
    running = wait_until(
        lambda: (found := app.responses.retrieve(queued.id)).status == "in_progress" and found,
        timeout=10,
        what="the beginning",
    )
    assert running.background
    upstream.wait_request().resume()
    ended(service.friend, queued.id)
    events = list(app.responses.retrieve(queued.id, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    resumed = list(app.responses.retrieve(queued.id, stream=True, starting_after=4))
    assert resumed == events[5:]
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == "first second third"
    upstream.reply(body=BEGUN, end="drip", gap_ms=1)
    begun = app.responses.create(model=model, input="Hello", background=True, stream=True)
    first = next(iter(begun))
    assert first.type == "response.created"
    assert app.responses.cancel(first.response.id).status == "cancelled"
    assert [event.type for event in begun][-1] == "response.incomplete"


def test_a_request_with_a_key_is_answered_by_the_next_web_process_when_its_own_was_killed(
    service: Service,
) -> None:
    service.upstream.reply(body=BODY, pause_at=PAUSE)
    asked = {"model": service.friend.model, "input": "Hello", "stream": True}
    key = {"Idempotency-Key": "order-1234"}
    cut = service.friend.open("POST", "/responses", asked, key)
    cut.read_event("response.output_text.delta")
    service.web.kill()
    service.web.start()
    service.wait_ready()
    with service.friend.open("POST", "/responses", asked, key) as again:
        again.read_event("response.output_text.delta")
        service.upstream.wait_request().resume()
        again.read_all()
    assert output_text(checked_stream(again, service.friend)) == "first second third"
    assert again.raw.startswith(cut.raw)
    assert len(service.upstream.requests()) == 1
    assert_unknown_to(service.stranger, again.events[0]["response"]["id"])
