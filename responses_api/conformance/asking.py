"""What scenarios ask, and what holds for every answer whatever its model says: shape, ids, calls, usage, events."""

from collections.abc import Iterable
from typing import Any, Final, NoReturn

from responses_api.conformance.evidence import calls_of, text_of
from responses_api.conformance.outcomes import Broken, NotApplicable, NotShown, require
from responses_api.conformance.server import Server
from responses_api.conformance.shapes.resource import error_faults, response_faults
from responses_api.conformance.told import read_told
from responses_api.conformance.wire import Answer
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import decode

LONG: Final = " ".join(["The river ran past the mill and the mill stood still."] * 20)
"""220 words that mean nothing: what counts them has read them."""

_SETTINGS: Final[Json] = {"store": False, "max_output_tokens": 400}
_OF_THE_MODEL: Final = {"tool_call_missing", "tool_not_allowed"}
_UNSUPPORTED: Final = {"unsupported_value", "unsupported_parameter"}
_MARKS: Final = (
    "<think>",
    "</think>",
    "<tool_call>",
    "<|im_end|>",
    "<|eot_id|>",
    "[TOOL_CALLS]",
    "<|start|>",
)
_FEWEST: Final = 100
"""By how many tokens `LONG` must at least be counted."""


async def ask(server: Server, *, optional: Iterable[str] = (), **fields: Any) -> Json:
    """The response as JSON, and sound. `optional` names fields that may be refused as not supported, by their names.

    Raises `Broken`, `NotShown` and `NotApplicable`, as every scenario does.
    """
    return sound(await server.ask(**{**_SETTINGS, **fields}), optional)


def sound(answer: Answer, optional: Iterable[str] = ()) -> Json:
    """The response in an answer, if it is one that any client can take. Raises as `ask` does."""
    _judge(answer, tuple(optional))
    return _sound(answer.json(), tuple(optional))


async def ask_stream(server: Server, *, optional: Iterable[str] = (), **fields: Any) -> Json:
    """As `ask`, by a stream that keeps every invariant; the response of its terminal event."""
    answer = await server.ask(**{**_SETTINGS, **fields}, stream=True)
    _judge(answer, tuple(optional))
    told = read_told(answer)
    found = [str(violation) for violation in told.stream.violations]
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise Broken(f"the stream breaks {found[0]}{more}")
    return _sound(told.final, tuple(optional))


async def require_counted(server: Server, longer: Json, shorter: Json, what: str) -> NoReturn:
    """What the model did not show by its answer, the count of tokens must: `longer` is `shorter` with `LONG` in it.

    Raises `Broken` where the count does not differ, else `NotShown`.
    """
    counts = [usage_of(await ask(server, **fields)) for fields in (longer, shorter)]
    if None in counts:
        raise NotShown(f"the model does not show that it read {what}, and no usage is told")
    long, short = (count["input_tokens"] for count in counts if count)
    require(
        long - short >= _FEWEST,
        f"{what} did not reach the model: with 220 words more there are {long} input tokens instead of {short}",
    )
    raise NotShown(f"{what} came to the model, as {long} counted tokens show, and its answer does not")


def completed_text(response: Json) -> str:
    """The text of a completed response. Raises `NotShown` where there is none."""
    if response.get("status") != "completed":
        raise NotShown(f"the answer is {response.get('status')}: {response.get('incomplete_details')}")
    text = text_of(response).strip()
    if not text:
        raise NotShown("the model said nothing")
    return text


def usage_of(response: Json) -> Json | None:
    """The usage, if it is told."""
    usage: Json | None = response.get("usage")
    return usage


def output_of(call: Json, text: str) -> Json:
    """What a call came to, as the next turn's input."""
    return {"type": "function_call_output", "call_id": call["call_id"], "output": text}


def _judge(answer: Answer, optional: tuple[str, ...]) -> None:
    """Go on where there is an answer to look at."""
    if answer.status == 200:
        return
    error = answer.error
    message, code = str(error.get("message")), error.get("code")
    for fault in error_faults(answer.json()):
        raise Broken(f"the error has another shape: {fault}")
    if answer.status in (429, 503):
        raise NotShown(f"the server limits the run: {message}")
    if answer.status >= 500 and code in _OF_THE_MODEL:
        raise NotShown(f"the model did not call as it was told: {message}")
    param = str(error.get("param") or "")
    if answer.status == 400 and code in _UNSUPPORTED and param.startswith(optional) and optional:
        raise NotApplicable(f"refused by name: {message}")
    raise Broken(f"refused with {answer.status} {code}: {message}")


def _sound(response: Json, optional: tuple[str, ...] = ()) -> Json:
    """The response itself. Raises `Broken`, or `NotShown` for a model's own failure."""
    for fault in response_faults(response):
        raise Broken(f"the response breaks its schema: {fault}")
    status, error = response["status"], response["error"]
    if status == "failed":
        message = str((error or {}).get("message"))
        if (error or {}).get("code") in _OF_THE_MODEL:
            raise NotShown(f"the model did not call as it was told: {message}")
        if any(f"'{name}" in message for name in optional):  # told as a failure, and not as an answer
            raise NotApplicable(f"said to have failed by name: {message}")
        raise Broken(f"the response failed: {error}")
    require(status in ("completed", "incomplete"), f"the response ended as {status}")
    ids = [item["id"] for item in response["output"]]
    require(all(ids) and len(set(ids)) == len(ids), f"the items' ids are not each its own: {ids}")
    _require_calls(response)
    _require_usage(response["usage"])
    for mark in _MARKS:
        require(mark not in text_of(response), f"'{mark}', a mark of the model's own format, is in the text")
    return response


def _require_calls(response: Json) -> None:
    calls = calls_of(response)
    call_ids = [call["call_id"] for call in calls]
    require(
        all(1 <= len(call_id) <= 64 for call_id in call_ids), f"a call_id is too long or empty: {call_ids}"
    )
    require(len(set(call_ids)) == len(call_ids), f"two calls share a call_id: {call_ids}")
    offered = {tool.get("name") for tool in response["tools"]}
    for call in calls:
        require(call["name"] in offered, f"the call names '{call['name']}', which is no tool of the request")
        if call["status"] == "completed":
            require(_is_object(call["arguments"]), f"the arguments are no JSON object: {call['arguments']!r}")


def _require_usage(usage: Json | None) -> None:
    if usage is None:
        return
    taken, made = usage["input_tokens"], usage["output_tokens"]
    cached = usage["input_tokens_details"]["cached_tokens"]
    reasoned = usage["output_tokens_details"]["reasoning_tokens"]
    require(
        usage["total_tokens"] == taken + made, f"{taken} + {made} tokens are told as {usage['total_tokens']}"
    )
    require(0 <= cached <= taken, f"{cached} cached tokens are told of {taken} of input")
    require(0 <= reasoned <= made, f"{reasoned} reasoning tokens are told of {made} of output")


def _is_object(text: str) -> bool:
    try:
        return isinstance(decode(text), dict)
    except ValueError:
        return False
