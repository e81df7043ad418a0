"""What the model is asked: plain requests that any capable model does, and the tools it is offered."""

from typing import Final

from responses_api.protocol.plain import Json

HELLO: Final = "Say hello in one short sentence."
GOODBYE: Final = "Say goodbye in one short sentence."
COUNT: Final = "Count from 1 to 200, separated by spaces. Write nothing else."
SLOW_COUNT: Final = "Count slowly from 1 to 200, separated by spaces. Write nothing else."
RECALL: Final = (
    "What is the code word? Answer with the code word only, or with 'unknown' if nobody told you one."
)
WEATHER_QUESTION: Final = "What is the weather in San Francisco? Use the get_weather tool to find out."
TIME_QUESTION: Final = "What time is it in San Francisco? Use the get_time tool to find out."


def tell(word: str) -> str:
    """A message that tells the code word which `RECALL` asks for."""
    return f"The code word is {word}. Reply with OK and nothing else."


def function(name: str, description: str, parameter: str) -> Json:
    """A function tool with one required string."""
    schema = {
        "type": "object",
        "properties": {parameter: {"type": "string"}},
        "required": [parameter],
        "additionalProperties": False,
    }
    return {"type": "function", "name": name, "description": description, "parameters": schema}


WEATHER: Final = function("get_weather", "Tells the weather of a place.", "location")
TIME: Final = function("get_time", "Tells the time of a place.", "location")


def message(text: str, role: str = "user") -> Json:
    """An input message."""
    return {"type": "message", "role": role, "content": text}
