"""What several formats refuse, in the same words: each says 400 and names the field, before anything is sent."""

from responses_api.protocol.errors import ProtocolError, invalid_request
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted


def unsupported(message: str, param: str) -> ProtocolError:
    """The 400 for a setting that this model's backend does not take."""
    return invalid_request(message, param=param, code="unsupported_value")


def other_tool(tool: Json, param: str) -> ProtocolError:
    """The 400 for a tool that is no function; `param` is the tool's path."""
    return unsupported(
        f"Tools of type '{quoted(tool['type'])}' are not supported by this model's backend: only 'function' is.",
        f"{param}.type",
    )


def other_choice(choice: Json) -> ProtocolError:
    """The 400 for a `tool_choice` of a type that the format has no place for."""
    return unsupported(
        f"The tool choice '{quoted(choice['type'])}' is not supported by this model's backend.", "tool_choice"
    )


def no_logprobs(param: str) -> ProtocolError:
    """The 400 for log probabilities, which `param` asks for and the upstream does not tell."""
    return unsupported(
        f"Log probabilities, which '{param}' asks for, are not told by this model's backend.", param
    )


def nothing_to_say() -> ProtocolError:
    """The 400 for a conversation of which nothing can be told."""
    return unsupported("The input has nothing that this model's backend can be told.", "input")
