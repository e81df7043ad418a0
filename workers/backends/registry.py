"""The kinds of backends, as data.

A compatible server needs no code: its row in the database names one of these kinds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from responses_api.protocol.backend import BackendSpec
from responses_api.protocol.job import Job
from responses_api.protocol.plain import Json
from workers.backends.answer import AnswerStream
from workers.backends.anthropic import models as claude_models
from workers.backends.anthropic import reading as messages_reading
from workers.backends.anthropic import request as messages_request
from workers.backends.anthropic import tools as messages_tools
from workers.backends.anthropic.stream import MessagesStream
from workers.backends.chat_completions import dialect as chat_dialect
from workers.backends.chat_completions import reading as chat_reading
from workers.backends.chat_completions import request as chat_request
from workers.backends.chat_completions.stream import ChatStream
from workers.backends.counting import Reading
from workers.backends.emulation import adapter as emulation
from workers.backends.gemini import reading as gemini_reading
from workers.backends.gemini import request as gemini_request
from workers.backends.gemini.stream import GeminiStream
from workers.backends.responses import reading as responses_reading
from workers.backends.responses import request as responses_request
from workers.backends.responses.chaining import shorten
from workers.backends.responses.stream import ResponsesStream


def _no_shorter(job: Job, body: Json) -> Json | None:
    return None


def bearer(key: str) -> dict[str, str]:
    """The credential as most vendors want it."""
    return {"Authorization": f"Bearer {key}"}


@dataclass(frozen=True, slots=True)
class Adapter:
    """How one kind is spoken to.

    `path` is what follows the base URL for a job. `build` makes the body, and raises `ProtocolError` 400 with `param`
    for what the format cannot carry. `open_stream` reads the answer to that body. `auth` makes the headers of a
    credential, `headers` are those of every request. `read` says what a model reads of a body that `build` made; what
    of it is the service's to set, `protocol.own_fields` says. `shorten` makes, of a whole body, one that is tried
    before it: where the backend refuses that with 400 or 404, the whole one follows.
    """

    path: Callable[[Job], str]
    build: Callable[[Job], Json]
    open_stream: Callable[[Job], AnswerStream]
    auth: Callable[[str], dict[str, str]]
    read: Callable[[Json], Reading]
    headers: Mapping[str, str] = field(default_factory=dict)
    shorten: Callable[[Job, Json], Json | None] = _no_shorter


def _always(path: str) -> Callable[[Job], str]:
    return lambda job: path


def _open_chat(job: Job) -> ChatStream:
    return ChatStream(begins_thinking=job.backend.get("thinking_tags") == "opened")


_CHAT = Adapter(
    path=_always("/chat/completions"),
    build=chat_request.build,
    open_stream=_open_chat,
    auth=bearer,
    read=chat_reading.read,
)


def _open_messages(job: Job) -> MessagesStream:
    model = claude_models.model_of(job.upstream_model)
    answer_tool = messages_tools.answer_tool(job.request, model)
    return MessagesStream(summarises=model.summarises, answer_tool=answer_tool)


_MESSAGES = Adapter(
    path=_always("/messages"),
    build=messages_request.build,
    open_stream=_open_messages,
    auth=lambda key: {"x-api-key": key},
    read=messages_reading.read,
    headers={"anthropic-version": messages_request.VERSION},
)

KINDS: dict[str, Adapter] = {
    "anthropic": _MESSAGES,
    "chat_completions": _CHAT,
    # OpenAI's reasoning models refuse the old name of the token limit, everybody else knows only that. It refuses every
    # field that it does not know.
    "openai_chat_completions": replace(
        _CHAT,
        build=partial(chat_request.build, dialect=chat_dialect.OPENAI),
    ),
    "gemini": Adapter(
        path=gemini_request.path,
        build=gemini_request.build,
        open_stream=lambda job: GeminiStream(job.response_id),
        auth=gemini_request.auth,
        read=gemini_reading.read,
    ),
    "responses": Adapter(
        path=_always("/responses"),
        build=responses_request.build,
        open_stream=ResponsesStream,
        auth=bearer,
        read=responses_reading.read,
        shorten=shorten,
    ),
}


def adapter_of(spec: BackendSpec) -> Adapter:
    """The adapter of a backend, with tools put around it where its models have none. Raises as `adapter_for`."""
    adapter = adapter_for(spec.kind)
    if spec.tools != "emulated":
        return adapter
    return replace(
        adapter,
        build=partial(emulation.build, adapter.build),
        open_stream=partial(emulation.open_stream, adapter.open_stream),
        # What is told in words is told whole: the backend knows of no calls that outputs could answer.
        shorten=_no_shorter,
    )


def adapter_for(kind: str) -> Adapter:
    """The adapter of a kind. Raises LookupError naming the known ones: a backend's row is wrong."""
    try:
        return KINDS[kind]
    except KeyError:
        raise LookupError(f"unknown backend kind '{kind}'; known: {', '.join(sorted(KINDS))}") from None
