"""Reasoning items, and the sealed state in them."""

from typing import Any

from responses_api.conformance.evidence import calls_of
from responses_api.conformance.expect import refused
from responses_api.conformance.outcomes import NotShown, require
from responses_api.conformance.prompts import WEATHER, WEATHER_QUESTION, message
from responses_api.conformance.registry import rule
from responses_api.conformance.rules.compaction import tampered
from responses_api.conformance.server import Server
from responses_api.protocol.plain import Json

_FIELDS: Json = {
    "input": [message(WEATHER_QUESTION)],
    "tools": [WEATHER],
    "tool_choice": "required",
    "reasoning": {"effort": "low"},
    "include": ["reasoning.encrypted_content"],
    "store": False,
}


async def _thought(server: Server) -> Json:
    """A response with a sealed reasoning item. Raises `NotShown` where the model does not reason, or seals nothing."""

    async def fetch(own: Server) -> Json:
        answer = await own.ask(**_FIELDS)
        if answer.status == 400 and str(answer.error.get("param", "")).startswith("reasoning"):
            raise NotShown("the model takes no reasoning settings")
        return answer.json()

    response = await server.once("reasoning", fetch)
    if not any(item.get("encrypted_content") for item in response.get("output") or ()):
        raise NotShown("the model gave no reasoning that has to be kept sealed")
    return response


def _again(response: Json, output: list[Json]) -> dict[str, Any]:
    """The next turn: everything so far, and an output for each call."""
    answers = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": "Sunny."}
        for call in calls_of(response)
    ]
    return {**_FIELDS, "tool_choice": "auto", "input": [*_FIELDS["input"], *output, *answers]}


@rule(
    "reasoning.sealed",
    "With include, reasoning of a response that is not stored comes sealed, and goes back as it came.",
    section="Reasoning",
)
async def sealed(server: Server) -> None:
    response = await _thought(server)
    answer = await server.ask(**_again(response, response["output"]))
    require(answer.status == 200, f"the server's own reasoning is refused: {answer.error.get('message')}")


@rule(
    "reasoning.tampered",
    "Sealed reasoning that was changed is refused with 400 that names the item.",
    section="Reasoning",
    demand="extension",
)
async def tampered_with(server: Server) -> None:
    response = await _thought(server)
    index = next(at for at, item in enumerate(response["output"]) if item.get("encrypted_content"))
    item = response["output"][index]
    output = list(response["output"])
    output[index] = {**item, "encrypted_content": tampered(item["encrypted_content"])}
    refused(await server.ask(**_again(response, output)), param=f"input[{index + 1}]")


@rule(
    "reasoning.foreign",
    "Sealed reasoning of another tenant is refused with 400 that names the item.",
    section="Reasoning",
    demand="extension",
)
async def foreign(server: Server) -> None:
    stranger = server.other()
    response = await _thought(server)
    index = next(at for at, item in enumerate(response["output"]) if item.get("encrypted_content"))
    refused(await stranger.ask(**_again(response, response["output"])), param=f"input[{index + 1}]")


@rule(
    "reasoning.asked-for",
    "Without include there is no sealed reasoning.",
    section="CreateResponseBody",
    demand="extension",
)
async def asked_for(server: Server) -> None:
    await _thought(server)
    response = await server.create(**{**_FIELDS, "include": []})
    kept = [item for item in response.get("output") or () if item.get("encrypted_content")]
    require(not kept, "sealed reasoning came without being asked for")
