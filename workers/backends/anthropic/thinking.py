"""How much a model is to think, in the words that it knows, and what does not go together with thinking.

| `reasoning.effort` | newer models: `output_config.effort` | older ones: `budget_tokens` |
| --- | --- | --- |
| `none` | `thinking` is disabled, or refused where a model always thinks | `thinking` is disabled |
| `minimal` | `low` | 1024 |
| `low` | `low` | 4096 |
| `medium` | `medium` | 8192 |
| `high` | `high` | 16384 |
| `xhigh` | `xhigh`, or `max` where there is no `xhigh` | 24576 |

A budget takes at most three quarters of the tokens that the answer may have, and at least 1024. Not given, nothing is
said of it: the model's own default holds. `reasoning.summary` asks for the thinking to be shown; without it that is the
model's default, too.
"""

from collections.abc import Sequence
from typing import Final

from responses_api.protocol.plain import Json
from workers.backends.anthropic.models import Model
from workers.backends.anthropic.tools import FORCED
from workers.backends.anthropic.turns import THINKING
from workers.backends.refusals import unsupported

_LEAST_BUDGET: Final = 1_024
_SHARE: Final = 3 / 4
_BUDGETS: Final = {"minimal": _LEAST_BUDGET, "low": 4_096, "medium": 8_192, "high": 16_384, "xhigh": 24_576}
_LEVELS: Final = {"minimal": "low", "xhigh": "max"}
_LEAST_TOP_P_THINKING: Final = 0.95
_USUAL: Final = 1


def thinking(request: Json, model: Model, body: Json) -> Json:
    """The fields of the body that say how much to think, `output_config` as far as it is about that.

    Left out where a budget cannot be: beside a call that is forced, with too few tokens, in a round of calls that began
    without thinking. Raises `ProtocolError` 400 where a model that always thinks is not to.
    """
    reasoning = request["reasoning"] or {}
    effort = reasoning.get("effort")
    if effort == "none":
        if model.always_thinks:
            raise unsupported(
                "'reasoning.effort' cannot be 'none': this model always reasons.", "reasoning.effort"
            )
        return {"thinking": {"type": model.least_thinking}}
    shown = {"display": "summarized"} if reasoning.get("summary") else {}
    if effort is None:
        # It tells of its thinking only when it is asked to.
        return {"thinking": {"type": "adaptive", **shown}} if shown and model.thinks_unasked else {}
    if model.thinks_freely:
        level = effort if effort == "xhigh" and model.knows_xhigh else _LEVELS.get(effort, effort)
        return {"thinking": {"type": "adaptive", **shown}, "output_config": {"effort": level}}
    if not _may_have_budget(body):
        return {}
    budget = min(_BUDGETS[effort], max(_LEAST_BUDGET, int(body["max_tokens"] * _SHARE)))
    return {"thinking": {"type": "enabled", "budget_tokens": budget, **shown}}


def sampling(request: Json, model: Model, *, thinks: bool) -> Json:
    """The fields of the body that say how much chance there is.

    Raises `ProtocolError` 400 for what the format, or this model, does not take.
    """
    for name in ("presence_penalty", "frequency_penalty"):
        if request[name]:
            raise unsupported(f"'{name}' is not supported by this model's backend: leave it out.", name)
    temperature, top_p = request["temperature"], request["top_p"]
    if temperature is not None and temperature > 1:
        raise unsupported("'temperature' must be at most 1 for this model's backend.", "temperature")
    told = {
        name: value for name, value in (("temperature", temperature), ("top_p", top_p)) if value is not None
    }
    return _as_claude_takes(told, model, thinks=thinks) if model.is_claude else told


def _as_claude_takes(told: Json, model: Model, *, thinks: bool) -> Json:
    # 1 is what holds without them, and some models refuse to be told so.
    told = {name: value for name, value in told.items() if value != _USUAL}
    if told and model.samples_by_itself:
        name = next(iter(told))
        raise unsupported(f"'{name}' is not supported by this model: leave it out.", name)
    if thinks and "temperature" in told:
        raise unsupported("'temperature' must be 1, or left out, where this model reasons.", "temperature")
    if thinks and told.get("top_p", _USUAL) < _LEAST_TOP_P_THINKING:
        raise unsupported("'top_p' must be at least 0.95, or left out, where this model reasons.", "top_p")
    return told


def _may_have_budget(body: Json) -> bool:
    is_forced = (body.get("tool_choice") or {}).get("type") in FORCED
    return not is_forced and body["max_tokens"] > _LEAST_BUDGET and not _goes_on_without(body["messages"])


def _goes_on_without(messages: Sequence[Json]) -> bool:
    """Whether calls are still being answered that began without a thought: one cannot be begun in between."""
    place = len(messages) - 1
    while place > 0 and any(block["type"] == "tool_result" for block in messages[place]["content"]):
        place -= 2
    began = messages[place + 1 :]
    return bool(began) and began[0]["content"][0]["type"] not in THINKING
