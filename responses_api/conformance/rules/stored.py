"""Stored responses: listed, retrieved, deleted, and unknown to everybody else."""

from responses_api.conformance.evidence import never_id, plain_response, stored_response
from responses_api.conformance.expect import found, refused
from responses_api.conformance.outcomes import NotApplicable, require
from responses_api.conformance.prompts import HELLO, message
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, offered
from responses_api.protocol.plain import Json


async def _listed(server: Server, query: str) -> Json:
    return found(offered(await server.get(f"/responses?{query}"), "a list of responses"))


async def _three(server: Server) -> list[str]:
    """The ids of three stored responses, oldest first."""

    async def fetch(own: Server) -> list[str]:
        return [str((await own.create(input=HELLO))["id"]) for _ in range(3)]

    await stored_response(server)
    return await server.once("three responses", fetch)


@rule(
    "stored.retrieve",
    "A stored response is retrieved by its id.",
    section="ResponseResource",
    demand="extension",
)
async def retrieve(server: Server) -> None:
    response = await stored_response(server)
    got = found(await server.get(f"/responses/{response['id']}"))
    require(
        (got.get("id"), got.get("object")) == (response["id"], "response"), f"GET answers {got.get('id')}"
    )


@rule(
    "stored.not-stored",
    "A response with store false is not retrieved.",
    section="CreateResponseBody",
    demand="extension",
)
async def not_stored(server: Server) -> None:
    await stored_response(server)
    response = await server.create(input=HELLO, store=False)
    require(response.get("store") is False, f"'store' is echoed as {response.get('store')!r}")
    refused(await server.get(f"/responses/{response['id']}"), 404)


@rule(
    "stored.list-order",
    "The list has the newest response first, and order=asc turns it.",
    section="ResponseResource",
    demand="extension",
)
async def list_order(server: Server) -> None:
    first, second, third = await _three(server)
    newest = [entry["id"] for entry in (await _listed(server, "limit=100"))["data"]]
    places = [newest.index(one) if one in newest else -1 for one in (third, second, first)]
    require(
        -1 not in places and places == sorted(places),
        "the list does not have three new responses in their order",
    )
    page = await _listed(server, f"order=asc&limit=2&after={first}")
    oldest = [entry["id"] for entry in page["data"]]
    require(first not in oldest, "'after' does not leave its own entry out")


@rule(
    "stored.list-pages",
    "Pages follow each other without gaps or repetitions; first_id, last_id and has_more tell them.",
    section="ResponseResource",
    demand="extension",
)
async def list_pages(server: Server) -> None:
    first, second, third = await _three(server)
    page = await _listed(server, f"order=desc&limit=1&after={third}")
    told = (page.get("object"), page.get("first_id"), page.get("last_id"), page.get("has_more"))
    ids = [entry["id"] for entry in page["data"]]
    require(len(ids) == 1, f"a page of limit 1 has {len(ids)} entries")
    require(told == ("list", ids[0], ids[0], True), f"object, first_id, last_id and has_more are {told}")
    seen: list[str] = []
    after = third
    while first not in seen and len(seen) < 100:
        page = await _listed(server, f"order=desc&limit=2&after={after}")
        seen += [str(entry["id"]) for entry in page["data"]]
        if not page["data"]:
            break
        after = seen[-1]
    require(second in seen and first in seen, "following 'after' does not come by every response")
    require(len(set(seen)) == len(seen), "following 'after' comes by a response twice")


@rule(
    "stored.list-limits",
    "limit is between 1 and 100, order asc or desc: else 400 that names it.",
    section="Errors",
    demand="extension",
)
async def list_limits(server: Server) -> None:
    await _listed(server, "limit=1")
    for query, param in (
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("order=up", "order"),
    ):
        refused(await server.get(f"/responses?{query}"), param=param)


@rule(
    "stored.delete",
    "DELETE answers that the response is deleted, and it is gone at once.",
    section="ResponseResource",
    demand="extension",
)
async def delete(server: Server) -> None:
    await stored_response(server)
    response_id = (await server.create(input=HELLO))["id"]
    told = found(offered(await server.send("DELETE", f"/responses/{response_id}"), "deletion"))
    require((told.get("id"), told.get("deleted")) == (response_id, True), f"DELETE answers {told}")
    refused(await server.get(f"/responses/{response_id}"), 404)
    refused(await server.get(f"/responses/{response_id}/input_items"), 404)
    refused(await server.send("DELETE", f"/responses/{response_id}"), 404)
    ids = [entry["id"] for entry in (await _listed(server, "limit=100"))["data"]]
    require(response_id not in ids, "a deleted response is still in the list")


@rule(
    "stored.input-items",
    "input_items lists the response's own new input, each item with an id, newest first.",
    section="Items",
    demand="extension",
)
async def input_items(server: Server) -> None:
    await stored_response(server)
    first = await server.create(input="This was said before. Reply with OK.")
    said = [message("Be brief.", "developer"), message(HELLO)]
    second = await server.create(input=said, previous_response_id=first["id"])
    path = f"/responses/{second['id']}/input_items"
    page = found(offered(await server.get(path), "input_items"))
    items = page["data"]
    require(
        [item.get("role") for item in items] == ["user", "developer"],
        "the list is not the new input, newest first",
    )
    require(all(item.get("id") for item in items), "an item has no id")
    require(
        items[0]["content"] == [{"type": "input_text", "text": HELLO}],
        f"the content is {items[0]['content']}",
    )
    turned = found(await server.get(f"{path}?order=asc"))["data"]
    require(turned == items[::-1], "order=asc does not turn the list")
    rest = found(await server.get(f"{path}?order=asc&limit=1&after={turned[0]['id']}"))
    require(
        (rest["data"], rest.get("has_more")) == (turned[1:], False),
        "'after' and 'limit' do not give the rest",
    )


@rule(
    "stored.unknown-alike",
    "A deleted response and one that never was are answered alike, everywhere.",
    section="Error Types",
    demand="extension",
)
async def unknown_alike(server: Server) -> None:
    await stored_response(server)
    gone = str((await server.create(input=HELLO))["id"])
    offered(await server.send("DELETE", f"/responses/{gone}"), "deletion")
    await _require_alike(server, gone, await never_id(server))


@rule(
    "stored.foreign-alike",
    "Another tenant's response and one that never was are answered alike, everywhere.",
    section="Error Types",
    demand="extension",
)
async def foreign_alike(server: Server) -> None:
    stranger = server.other()
    await stored_response(server)
    theirs = str((await plain_response(server))["id"])
    await _require_alike(stranger, theirs, await never_id(server))
    got = await server.get(f"/responses/{theirs}")
    require(got.status == 200, "what a stranger tried has touched the response")


@rule(
    "stored.foreign-list",
    "The list holds nothing of another tenant.",
    section="Error Types",
    demand="extension",
)
async def foreign_list(server: Server) -> None:
    stranger = server.other()
    theirs = set(await _three(server))
    page = found(offered(await stranger.get("/responses?limit=100"), "a list of responses"))
    require(not theirs & {entry["id"] for entry in page["data"]}, "the list holds another tenant's response")
    page_after = await stranger.get(f"/responses?limit=100&order=asc&after={min(theirs)}")
    if page_after.status == 200:
        listed = {entry["id"] for entry in page_after.json()["data"]}
        require(not theirs & listed, "the list after another tenant's id holds that tenant's responses")


async def _require_alike(caller: Server, known: str, never: str) -> None:
    for method, ending in (("GET", ""), ("GET", "/input_items"), ("POST", "/cancel"), ("DELETE", "")):
        answers = [await caller.send(method, f"/responses/{one}{ending}") for one in (known, never)]
        if answers[1].status == 405:
            continue
        told, expected = answers
        same = told.body == expected.body.replace(never.encode(), known.encode())
        require(
            told.status == expected.status and told.status >= 400 and same,
            f"{method} …{ending} answers {told.status} for the one and {expected.status} for the other",
        )
    continued = [await caller.ask(input=HELLO, previous_response_id=one) for one in (known, never)]
    same = continued[0].body == continued[1].body.replace(never.encode(), known.encode())
    if continued[1].status == 200:
        raise NotApplicable("the server continues responses that never were")
    require(
        continued[0].status == continued[1].status and same, "continuing the one is refused in other words"
    )
