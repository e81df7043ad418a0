"""Reasoning: what the provider wants back survives a client that keeps nothing but what it was given."""

from typing import Final

from responses_api.conformance.asking import ask_stream, completed_text, output_of
from responses_api.conformance.evidence import calls_of
from responses_api.conformance.outcomes import NotShown
from responses_api.conformance.prompts import WEATHER, WEATHER_QUESTION, message
from responses_api.conformance.scenario import scenario
from responses_api.conformance.server import Server
from responses_api.protocol.plain import Json

_SETTINGS: Final[Json] = {
    "tools": [WEATHER],
    "reasoning": {"effort": "low"},
    "include": ["reasoning.encrypted_content"],
    "max_output_tokens": 4000,
}


@scenario("reasoning", "Reasoning goes back as it came, through a tool loop that the server does not store.")
async def reasoning(server: Server) -> str:
    question = [message(WEATHER_QUESTION)]
    first = await ask_stream(server, input=question, **_SETTINGS, optional=("reasoning", "include"))
    thoughts = [item for item in first["output"] if item["type"] == "reasoning"]
    if not thoughts:
        raise NotShown("the model told no reasoning")
    if first["status"] != "completed":
        raise NotShown(f"the answer is {first['status']}: {first['incomplete_details']}")
    calls = calls_of(first)
    answers = [output_of(call, "It is 37 degrees, with hail.") for call in calls] or [message("And in Rome?")]
    second = await ask_stream(server, input=[*question, *first["output"], *answers], **_SETTINGS)
    sealed = sum(bool(item.get("encrypted_content")) for item in thoughts)
    if not calls_of(second):
        completed_text(second)
    through = "a tool loop" if calls else "a second turn; the model called nothing"
    return f"{len(thoughts)} reasoning items, {sealed} of them sealed, went through {through}."
