"""Log probabilities: whether a request asks for them, and as `LogProb` objects what several formats tell of them."""

from typing import Any, Final

from responses_api.protocol.plain import Json
from workers.backends.values import log_prob

LOGPROBS: Final = "message.output_text.logprobs"
"""What `include` asks for them by."""


def asks_for_logprobs(request: Json) -> str | None:
    """The field by which a request asks for them; None where it does not."""
    if request["top_logprobs"]:
        return "top_logprobs"
    return "include" if LOGPROBS in request["include"] else None


def read_logprobs(tokens: Any) -> tuple[Json, ...]:
    """The tokens of a list that says so much of each; `bytes` and `top_logprobs` are always there."""
    return tuple(
        {**token, "top_logprobs": [top for _, top in _tokens(entry.get("top_logprobs"))]}
        for entry, token in _tokens(tokens)
    )


def cut_logprobs(logprobs: tuple[Json, ...], count: int) -> tuple[tuple[Json, ...], tuple[Json, ...]]:
    """Those of the tokens that begin within the first so many characters of a text, and those that begin after them."""
    for place, token in enumerate(logprobs):
        if count <= 0:
            return logprobs[:place], logprobs[place:]
        count -= len(token.get("token", ""))
    return logprobs, ()


def _tokens(entries: Any) -> list[tuple[Json, Json]]:
    """The entries that tell of a token, each with what it tells."""
    told = (entry for entry in (entries if isinstance(entries, list) else ()) if isinstance(entry, dict))
    read = ((entry, log_prob(entry.get("token"), entry.get("logprob"), entry.get("bytes"))) for entry in told)
    return [(entry, token) for entry, token in read if token is not None]
