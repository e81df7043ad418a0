"""How much a Gemini model is told to think, and what its generation decides.

Models from Gemini 3 on have levels, those before it a budget of tokens; a request with both is refused. The budgets are
those that the provider itself has for the same words in its OpenAI-compatible interface.

| `reasoning.effort` | `thinkingLevel` | of a model called "pro" | `thinkingBudget` before Gemini 3 |
| --- | --- | --- | --- |
| none | MINIMAL | refused | 0; refused for one called "pro" |
| minimal | MINIMAL | LOW | 1024 |
| low | LOW | LOW | 1024 |
| medium | MEDIUM | MEDIUM | 8192 |
| high | HIGH | HIGH | 24576 |
| xhigh | XHIGH | XHIGH | 24576 |

"none" is refused where a model cannot be kept from thinking. `reasoning.summary`, whatever its length, asks for the
summaries of thoughts, the only thing that Gemini tells of them.
"""

import re

from responses_api.protocol.plain import Json
from workers.backends.refusals import unsupported

_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576}
_LEVELS = {
    "none": "MINIMAL",
    "minimal": "MINIMAL",
    "low": "LOW",
    "medium": "MEDIUM",
    "high": "HIGH",
    "xhigh": "XHIGH",
}
_EARLY = re.compile(r"gemini-[12]\b")
_PRO = re.compile(r"\bpro\b")


def is_early(model: str) -> bool:
    """Whether this is a Gemini before the third: it has budgets, wants no signatures, and no media in a function's
    output. A name that does not say is taken for a newer one.
    """
    return bool(_EARLY.search(model))


def thinking_config(model: str, reasoning: Json | None) -> Json:
    """`thinkingConfig`, empty where the request says nothing: a model that cannot think refuses the field.

    Raises `ProtocolError` 400 for a model that cannot be kept from thinking.
    """
    wanted = reasoning or {}
    config: Json = {"includeThoughts": True} if wanted.get("summary") else {}
    effort = wanted.get("effort")
    if effort is None:
        return config
    is_pro = bool(_PRO.search(model))
    if effort == "none" and is_pro:
        raise unsupported(
            "This model cannot be kept from thinking: ask for 'low' effort or more, or leave 'reasoning.effort' out.",
            "reasoning.effort",
        )
    if is_early(model):
        return {**config, "thinkingBudget": _BUDGETS[effort]}
    return {**config, "thinkingLevel": "LOW" if effort == "minimal" and is_pro else _LEVELS[effort]}
