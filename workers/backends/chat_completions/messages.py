"""A conversation of items as Chat Completions messages.

The format knows less order than items do: what the model said before its calls and the calls themselves are
one assistant message, and the answers to those calls must follow it at once, in the order of the calls.
"""

from collections.abc import Callable, Iterable, Sequence

from responses_api.protocol.errors import invalid_request
from responses_api.protocol.job import STATE
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from workers.backends.chat_completions.reasoning import give_back
from workers.backends.given import Given, answers, given_items

# `developer` is the newer name of the same thing, and only OpenAI's own models know it.
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_TEXT_TYPES = frozenset({"input_text", "output_text", "text"})


def build_messages(
    instructions: str | None, context: Sequence[Json], new_from: int, *, with_state: bool = True
) -> list[Json]:
    """The messages of canonical items, oldest first; `context[new_from:]` is the request's own input.

    Items of other types (`acme:thing`, `web_search_call`) belong to the conversation and not to this format: they are
    left out.
    With `with_state` an assistant's message gets back what the server told with its reasoning.

    Raises `ProtocolError` 400 for content that the format cannot carry, and where nothing is left to say.
    """
    conversation = _Conversation()
    if instructions:
        conversation.messages.append({"role": "system", "content": instructions})
    items = list(given_items(context, new_from))
    answered = answers(items)
    for index, item in enumerate(items):
        kind = item.value["type"]
        if kind == "function_call":
            conversation.call(item.value, _output(answered[index]) if index in answered else None)
        elif kind == "function_call_output":
            # Told already, right behind the calls; what is called after it belongs to the next round.
            conversation.end_turn()
        elif kind == "message":
            conversation.say(_message(item))
        elif kind == "reasoning":
            if with_state:
                conversation.think(item.value.get(STATE) or ())
        elif not is_foreign(kind):
            raise item.refuse(f"Items of type '{quoted(kind)}'", ".type")
    conversation.end_turn()
    if not conversation.messages:
        raise invalid_request(
            "The input has nothing that this model's backend can be told.",
            param="input",
            code="unsupported_value",
        )
    return conversation.messages


class _Conversation:
    """The messages so far, and the round of calls that may still grow."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._round: Json | None = None
        self._answers: list[Json] = []
        self._turn: Json | None = None
        self._states: list[Json] = []

    def say(self, message: Json | None) -> None:
        if message is None:
            self._end_round()
            return
        if message["role"] != "assistant":
            self.end_turn()
            self.messages.append(message)
            return
        self._end_round()
        self.messages.append(message)
        self._join(message)

    def think(self, states: Iterable[Json]) -> None:
        """What comes back with the assistant's next message, or with its last where the turn ends without another."""
        self._states += states

    def call(self, item: Json, answer: str | None) -> None:
        if self._round is None:
            self._round = self._assistant_message()
            self._round["tool_calls"] = []
        self._join(self._round)
        function = {"name": item["name"], "arguments": item["arguments"]}
        self._round["tool_calls"].append({"id": item["call_id"], "type": "function", "function": function})
        if answer is not None:
            self._answers.append({"role": "tool", "tool_call_id": item["call_id"], "content": answer})

    def end_turn(self) -> None:
        """Somebody else speaks."""
        if self._turn is not None:
            self._join(self._turn)
        self._states = []
        self._turn = None
        self._end_round()

    def _join(self, message: Json) -> None:
        self._turn = message
        for state in self._states:
            give_back(message, state)
        self._states = []

    def _end_round(self) -> None:
        self.messages += self._answers
        self._answers = []
        self._round = None

    def _assistant_message(self) -> Json:
        """The message that the calls join: what the model said just before, or a new one."""
        if not self.messages or self.messages[-1]["role"] != "assistant" or "tool_calls" in self.messages[-1]:
            self.messages.append({"role": "assistant", "content": None})
        return self.messages[-1]


def _output(item: Given) -> str:
    output = item.value["output"]
    if isinstance(output, str):
        return output
    for index, part in enumerate(output):
        if part["type"] not in _TEXT_TYPES:
            raise item.refuse(
                f"Parts of type '{part['type']}' in the output of a function", f".output[{index}]"
            )
    return "".join(part["text"] for part in output)


def _message(item: Given) -> Json | None:
    """A message; None for an assistant message that says nothing, which servers refuse."""
    role = _ROLES.get(item.value["role"])
    if role is None:
        raise item.refuse(f"Messages of the role '{item.value['role']}'", ".role")
    parts = item.value["content"]
    if role != "assistant":
        return {"role": role, "content": _content(item, parts)}
    refusal = "".join(part["refusal"] for part in parts if part["type"] == "refusal")
    content = _content(item, [part for part in parts if part["type"] != "refusal"]) or None
    if refusal:
        return {"role": role, "content": content, "refusal": refusal}
    return {"role": role, "content": content} if content else None


def _content(item: Given, parts: Sequence[Json]) -> str | list[Json]:
    """A string where there is only text, because every server takes one; else the parts in their order."""
    if all(part["type"] in _TEXT_TYPES for part in parts):
        return "".join(part["text"] for part in parts)
    return [_part(item, part, f".content[{index}]") for index, part in enumerate(parts)]


def _part(item: Given, part: Json, path: str) -> Json:
    convert = _PARTS.get(part["type"])
    if convert is None:
        raise item.refuse(f"Content parts of type '{part['type']}'", path + ".type")
    return convert(item, part, path)


def _text(item: Given, part: Json, path: str) -> Json:
    return {"type": "text", "text": part["text"]}


def _image(item: Given, part: Json, path: str) -> Json:
    if not part.get("image_url"):
        raise item.refuse("Images without an 'image_url'", path + ".image_url")
    image = {"url": part["image_url"]}
    if part.get("detail") not in (None, "auto"):
        image["detail"] = part["detail"]
    return {"type": "image_url", "image_url": image}


def _file(item: Given, part: Json, path: str) -> Json:
    if part.get("file_url"):
        raise item.refuse("Files by their 'file_url'", path + ".file_url")
    if not part.get("file_data"):
        raise item.refuse("Files without 'file_data'", path + ".file_data")
    names = ("filename", "file_data")
    return {"type": "file", "file": {name: part[name] for name in names if part.get(name)}}


_PARTS: dict[str, Callable[[Given, Json, str], Json]] = {
    **dict.fromkeys(_TEXT_TYPES, _text),
    "input_image": _image,
    "input_file": _file,
}
