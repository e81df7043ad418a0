"""`Idempotency-Key`: a request that is sent again makes nothing new."""

import secrets

from responses_api.conformance.expect import found, refused
from responses_api.conformance.outcomes import require
from responses_api.conformance.prompts import GOODBYE, HELLO
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server


def _key() -> dict[str, str]:
    return {"Idempotency-Key": f"conformance-{secrets.token_hex(12)}"}


@rule(
    "idempotency.same",
    "The same request under the same key is answered with the same response.",
    section="HTTP Requests",
    demand="extension",
)
async def same(server: Server) -> None:
    headers = _key()
    first = found(await server.ask(input=HELLO, headers=headers))
    second = found(await server.ask(input=HELLO, headers=headers))
    require(first.get("id") == second.get("id"), "a request that was sent again has made a second response")
    require(first == second, "the second answer differs from the first")


@rule(
    "idempotency.stream",
    "A stream under the same key tells the same events.",
    section="HTTP Requests",
    demand="extension",
)
async def stream(server: Server) -> None:
    headers = _key()
    first = await server.stream(input=HELLO, headers=headers)
    second = await server.stream(input=HELLO, headers=headers)
    require(
        first.final.get("id") == second.final.get("id"),
        "a stream that was asked for again is a second response",
    )
    require(first.events == second.events, "the events of the second stream differ from the first's")


@rule(
    "idempotency.other-body",
    "Another request under the same key is refused with 409, or 422.",
    section="HTTP Requests",
    demand="extension",
)
async def other_body(server: Server) -> None:
    headers = _key()
    found(await server.ask(input=HELLO, headers=headers))
    refused(await server.ask(input=GOODBYE, headers=headers), 409, 422)


@rule(
    "idempotency.own-keys",
    "Two tenants may use the same key, each for a response of its own.",
    section="HTTP Requests",
    demand="extension",
)
async def own_keys(server: Server) -> None:
    stranger = server.other()
    headers = _key()
    first = found(await server.ask(input=HELLO, headers=headers))
    second = found(await stranger.ask(input=HELLO, headers=headers))
    require(first.get("id") != second.get("id"), "a tenant's key has answered with another tenant's response")
