"""What a model is told of tools and turns, and how earlier calls are told to it.

The functions come first and depend on the tools alone, so that they stay in a server's prompt cache; what the moment
demands comes last. Examples steer small models better than rules do, but not once there are results: then they would
rather repeat an example than read what a function said.
"""

from collections.abc import Sequence
from typing import Any, Final

from responses_api.protocol.plain import Json
from responses_api.protocol.sse import encode
from workers.backends.emulation.reader import ALSO, ANSWER, ARGUMENTS, TOOL

NUDGE: Final = "\nAnswer now, if nothing is missing."
"""What stands behind the results of functions that nothing else follows."""

_INTRODUCTION: Final = "Functions:"
_CALL_OR_ANSWER: Final = "Reply in JSON. If a function can tell what the user asks for, call it, else answer."
_ONLY_CALL: Final = "Reply in JSON. Call a function."
_ONLY_ANSWER: Final = "Reply in JSON with an answer."
_GO_ON: Final = "Reply in JSON, with a call of a function or an answer."
_MORE: Final = f' Only if the user asks for several things, further calls go into "{ALSO}".'
_WHO: Final = ("Who are you?", f'{{"{ANSWER}": "I am your assistant."}}')


def describe(
    tools: Sequence[Json],
    allowed: Sequence[Json],
    *,
    answer: Json | None,
    is_json: bool,
    most: int,
    has_results: bool,
) -> str:
    """What to say of `tools`, of which the `allowed` may be called now, `most` at once.

    `answer` is the schema of the answer, None where only a call will do; `is_json`: it is the request's own.
    `has_results`: the input ends with what functions returned.
    """
    lines = [_INTRODUCTION, *(_listed(tool) for tool in tools), ""] if tools else []
    lines.append(_rule(allowed, may_answer=answer is not None, most=most, has_results=has_results))
    if len(allowed) < len(tools) and allowed:
        lines.append(f"Only these may be called now: {', '.join(tool['name'] for tool in allowed)}.")
    if is_json and answer is not None:
        lines.append(f"The answer is JSON by this schema: {_json(answer)}")
        lines.append(f'Reply: {{"{ANSWER}": ...}}')
    elif not allowed or (has_results and answer is not None):
        lines.append(f'Reply: {{"{ANSWER}": "..."}}')
    else:
        lines += _examples(allowed, with_answer=answer is not None)
    return "\n".join(lines)


def told_calls(calls: Sequence[Json]) -> str:
    """Calls that the assistant made at once. Not as it wrote them: it would only write them again."""
    return "\n".join(f"I call {call['name']} with {call['arguments'] or '{}'}." for call in calls)


def before_result(name: str) -> str:
    """What stands before the output of a function."""
    return f"Result of {name}: "


def _rule(allowed: Sequence[Json], *, may_answer: bool, most: int, has_results: bool) -> str:
    if not allowed:
        return _ONLY_ANSWER
    rule = (_GO_ON if has_results else _CALL_OR_ANSWER) if may_answer else _ONLY_CALL
    return rule + (_MORE if most > 1 and not has_results else "")


def _examples(allowed: Sequence[Json], *, with_answer: bool) -> list[str]:
    """A call of each function, and behind them an answer: what stands last is what the model would rather do."""
    replies = [(tool["description"] or tool["name"], _example(tool)) for tool in allowed]
    replies += [_WHO] if with_answer else []
    return [f"User: {asked}\nAssistant: {reply}" for asked, reply in replies]


def _listed(tool: Json) -> str:
    description = f" {tool['description']}" if tool["description"] else ""
    return f"- {tool['name']}:{description} Arguments: {_json(tool['parameters'] or {})}"


def _example(tool: Json) -> str:
    names = (tool["parameters"] or {}).get("properties")
    given = ", ".join(f'{_json(name)}: "..."' for name in names) if isinstance(names, dict) else ""
    return _told(tool["name"], f"{{{given}}}")


def _told(name: str, arguments: str) -> str:
    return f'{{"{TOOL}": {_json(name)}, "{ARGUMENTS}": {arguments}}}'


def _json(value: Any) -> str:
    return encode(value).decode()
