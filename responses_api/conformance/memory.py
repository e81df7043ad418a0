"""Whether a response was asked on top of what was said before: by what the model says, or by what was counted."""

from responses_api.conformance.evidence import completed, text_of
from responses_api.conformance.outcomes import NotShown, require
from responses_api.conformance.prompts import RECALL
from responses_api.conformance.server import Server
from responses_api.protocol.plain import Json


async def require_known(server: Server, word: str, asked: Json) -> None:
    """The context of `asked`, an answer to `RECALL`, holds the word. Raises `Broken`, or `NotShown`.

    A model that does not say it may be a weak one: then the input must at least be larger than the question alone.
    """
    completed(asked)
    if word in text_of(asked):
        return
    fresh = await server.create(input=RECALL)
    told = [response.get("usage") for response in (asked, fresh)]
    counts = [usage["input_tokens"] for usage in told if usage]
    if len(counts) != 2:
        raise NotShown("the model does not remember, and the response tells no usage")
    require(counts[0] > counts[1], "what was said before is neither remembered nor counted in input_tokens")
