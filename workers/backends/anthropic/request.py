"""A job as the body of a Messages request.

What this format can say is translated; what would change the answer and cannot be said is refused with a 400
that names the field. The rest, on purpose:

| setting | here |
| --- | --- |
| `reasoning` items | the thinking that the same model told here, as it was and where it was; nothing else |
| system and developer messages | join the instructions, wherever they stood: there every model hears its operator |
| `max_output_tokens` | the format demands a number: without it 32000 for Claude, 8192 for others |
| `reasoning.effort` | see `thinking`; left out where an older model cannot think: beside a forced call, with 1024 |
|  | tokens or fewer, or among calls that began without thinking |
| `reasoning.summary` | asks that the thinking be shown; how long it is, the format leaves to the model |
| `text.format` | models are held to it by the format, older Claudes by a tool that takes the answer, without thinking |
| `json_object` | refused: without a schema there is nothing that the format could hold an answer to |
| `strict` of a tool | left out for models that are not held to schemas: their calls may stray from theirs |
| open objects of a schema | closed, as the format demands: what fits the narrower schema fits the one that was given |
| `text.verbosity` | left out: a wish that the format has no words for |
| `detail` of an image | left out: the format has one |
| text that is empty or only space | left out: the format refuses it; a turn of nothing else, too |
| first and last words of the assistant | a short turn of the user stands before or behind them: the format begins |
|  | with the user, and current models go on with no answer that was begun |
| arguments that are no JSON object | sent inside of one: the format knows nothing else |
| call ids | as they are where they fit, else others stand in for them: see `calls` |
| `prompt_cache_key` | marks what stays: tools, instructions, all up to the user's last turn. The key itself has |
|  | no place here: the upstream tells caches apart by account |
| `service_tier` | `default` and `flex` spare capacity that was bought beforehand; else the upstream's own `auto` |
| `truncation`, `background`, `store` | the service's own: which turns, who waits, what stays |
| `max_tool_calls` | the service's own: `protocol.admission` counts the calls of every answer |
| name and description of `text.format` | left out: the format has no words for them |
| `safety_identifier` | sent as `metadata.user_id`, the name that this format has for it |
| `annotations` of replayed text | left out: they point out sources to a reader. So do citations in an answer |
| `phase` of a message, `metadata` | left out: labels for the client, not part of the conversation |
| items of other types, a vendor's among them | left out: kept with the conversation, and no part of this format |
| `stream` | always on: an answer that is read as it comes can be cancelled at once |
"""

from typing import Final

from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from workers.backends.anthropic.models import model_of
from workers.backends.anthropic.thinking import sampling, thinking
from workers.backends.anthropic.tools import mark, tools
from workers.backends.anthropic.turns import THINKING, build_turns
from workers.backends.logprobs import asks_for_logprobs
from workers.backends.refusals import no_logprobs

VERSION: Final = "2023-06-01"
"""The version that every server of the format knows. The next one, of October 2026, takes away what this one leaves to
the model (sampling), and gives nothing for it that is used here.
"""

_CAPACITY_AT_HAND: Final = frozenset({"default", "flex"})


def build(job: Job) -> Json:
    """The request body, always for a stream.

    Raises `ProtocolError` 400 with `param` for what this format cannot carry.
    """
    request, model = job.request, model_of(job.upstream_model)
    if (asked := asks_for_logprobs(request)) is not None:
        raise no_logprobs(asked)
    system, messages = build_turns(
        request["instructions"], job.context, len(job.history), wants_signatures=model.is_claude
    )
    body: Json = {
        "model": job.upstream_model,
        "max_tokens": request["max_output_tokens"] or model.usual_output,
        "messages": messages,
        "stream": True,
    }
    if system:
        body["system"] = system
    body |= tools(request, model)
    thought = thinking(request, model, body)
    config = {**body.get("output_config", {}), **thought.pop("output_config", {})}
    body |= thought | ({"output_config": config} if config else {})
    thinks = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
    body |= sampling(request, model, thinks=thinks)
    body |= _account(request)
    if request["prompt_cache_key"]:
        _mark(body)
    return body


def _account(request: Json) -> Json:
    """Whom the request is for, and which capacity it takes."""
    body: Json = {}
    if request["safety_identifier"]:
        body["metadata"] = {"user_id": request["safety_identifier"]}
    if request["service_tier"] in _CAPACITY_AT_HAND:
        body["service_tier"] = "standard_only"
    return body


def _mark(body: Json) -> None:
    mark(body.get("tools") or ())
    mark(body.get("system") or ())
    last = body["messages"][-1]["content"]
    mark([block for block in last if block["type"] not in THINKING])
