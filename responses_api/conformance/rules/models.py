"""The models of a key, as OpenAI's API lists them."""

from responses_api.conformance.expect import found, refused
from responses_api.conformance.outcomes import require
from responses_api.conformance.registry import rule
from responses_api.conformance.server import Server, offered


@rule(
    "models.list", "GET /models lists the model of the run.", section="ResponseResource", demand="extension"
)
async def listed(server: Server) -> None:
    page = found(offered(await server.get("/models"), "a list of models"))
    ids = [entry.get("id") for entry in page.get("data") or ()]
    require(page.get("object") == "list" and server.target.model in ids, f"the list has {ids}")


@rule(
    "models.one",
    "GET /models/{id} tells one model, and 404 for others.",
    section="ResponseResource",
    demand="extension",
)
async def one(server: Server) -> None:
    told = found(offered(await server.get(f"/models/{server.target.model}"), "single models"))
    require(
        (told.get("id"), told.get("object")) == (server.target.model, "model"), f"the model is told as {told}"
    )
    refused(await server.get("/models/conformance-no-such-model"), 404)
