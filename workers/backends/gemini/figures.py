"""The numbers in a generateContent answer: token usage and log probabilities."""

from collections.abc import Iterator
from typing import Any

from responses_api.protocol.plain import Json
from workers.backends.parts import UsageReport
from workers.backends.values import count_of, log_prob


def read_usage(usage: Json) -> UsageReport:
    """The counts under this format's names; what is missing or makes no sense counts 0.

    Thoughts are beside the candidates' tokens, but for servers whose total says that they are among them.
    """
    given = count_of(usage.get("promptTokenCount")) + count_of(usage.get("toolUsePromptTokenCount"))
    said = count_of(usage.get("candidatesTokenCount"))
    thought = count_of(usage.get("thoughtsTokenCount"))
    total = count_of(usage.get("totalTokenCount"))
    are_among = thought <= said and given + said == total
    return UsageReport(
        input_tokens=given,
        output_tokens=said if are_among else said + thought,
        cached_tokens=count_of(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thought,
    )


def read_logprobs(result: Any) -> tuple[Json, ...]:
    """`logprobsResult` as `LogProb` objects, one for each token that was chosen."""
    if not isinstance(result, dict):
        return ()
    tops = _list(result.get("topCandidates"))
    told: list[Json] = []
    for place, chosen in enumerate(_list(result.get("chosenCandidates"))):
        top = tops[place] if place < len(tops) else None
        others = top.get("candidates") if isinstance(top, dict) else None
        told += [{**token, "top_logprobs": list(_tokens(others))} for token in _tokens([chosen])]
    return tuple(told)


def _tokens(candidates: Any) -> Iterator[Json]:
    for candidate in _list(candidates):
        if isinstance(candidate, dict):
            # Zero, the logarithm of what is certain, is left out like every field that has its default.
            token = log_prob(candidate.get("token"), candidate.get("logProbability", 0))
            if token is not None:
                yield token


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
