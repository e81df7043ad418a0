"""HTTP clients that do not read what they asked for: they cost little and are dropped."""

from tests.e2e.web import StartWeb, resident
from tests.support.chat import chat_stream
from tests.support.client import Client
from tests.support.service import Service

LONG = [f"{number} " + "x" * 20_000 for number in range(1000)]


def test_a_stream_that_nobody_reads_costs_little_and_is_cancelled(
    service: Service, start_web: StartWeb
) -> None:
    web = start_web(ANTIPHON_STUCK_SECONDS="1", ANTIPHON_UNSENT_BYTES="500000")
    before = resident(web)
    body = chat_stream(*LONG, finish=None, usage=None, done=False)
    service.upstream.reply(body=body, chunks=range(0, len(body), 20_000), end="hang")
    friend = Client(web.name, service.friend.key, service.friend.model)
    with friend.stream(input="Tell me everything."):
        service.upstream.wait_request().wait_closed(20)
        assert resident(web) - before < 30_000_000
    # Which bound is met first is a matter of how fast the pieces come.
    assert "nothing is read" in web.output() or "client_too_slow" in web.output()
    assert "Traceback" not in web.output()
