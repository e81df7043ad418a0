"""A conversation of items as Chat Completions messages.

The format knows less order than items do: what the model said before its calls and the calls themselves are
one assistant message, and the answers to those calls must follow it at once, in the order of the calls.
"""

from collections.abc import Iterable, Sequence

from responses_api.protocol.job import STATE
from responses_api.protocol.passthrough import is_foreign
from responses_api.protocol.plain import Json
from responses_api.protocol.wording import quoted
from workers.backends.chat_completions.content import content, output
from workers.backends.chat_completions.dialect import ANYBODY, Dialect
from workers.backends.chat_completions.reasoning import give_back
from workers.backends.given import Given, answers, given_items
from workers.backends.refusals import nothing_to_say

# `developer` is the newer name of the same thing, and only OpenAI's own models know it.
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_FOLLOWS = "(More of this output follows as a message.)"


def build_messages(
    instructions: str | None, context: Sequence[Json], new_from: int, dialect: Dialect = ANYBODY
) -> list[Json]:
    """The messages of canonical items, oldest first; `context[new_from:]` is the request's own input.

    Items of other types (`acme:thing`, `web_search_call`) belong to the conversation and not to this format: they are
    left out.
    An assistant's message gets back what the server told with its reasoning, where that takes it (`dialect`). A message
    of the role `tool` is text everywhere: what else a function put out follows the outputs of its round, as a user's.

    Raises `ProtocolError` 400 for content that the format cannot carry, and where nothing is left to say.
    """
    conversation = _Conversation(dialect)
    if instructions:
        conversation.messages.append({"role": "system", "content": instructions})
    items = list(given_items(context, new_from))
    answered = answers(items)
    for index, item in enumerate(items):
        conversation.take(item, answered.get(index))
    conversation.end_turn()
    if not conversation.messages:
        raise nothing_to_say()
    return conversation.messages


class _Conversation:
    """The messages so far, and the round of calls that may still grow."""

    def __init__(self, dialect: Dialect) -> None:
        self.messages: list[Json] = []
        self._dialect = dialect
        self._round: Json | None = None
        self._answers: list[Json] = []
        self._attached: list[Json] = []
        self._turn: Json | None = None
        self._states: list[Json] = []

    def take(self, item: Given, answer: Given | None) -> None:
        """The next item; of a call also its answer. Raises `ProtocolError` 400 for content that cannot be carried."""
        kind = item.value["type"]
        if kind == "function_call":
            self.call(item.value, None if answer is None else output(answer, self._dialect))
        elif kind == "function_call_output":
            # Told already, right behind the calls; what is called after it belongs to the next round.
            self.end_turn()
        elif kind == "message":
            self.say(_message(item, self._dialect))
        elif kind == "reasoning":
            if self._dialect.takes_state:
                self.think(item.value.get(STATE) or ())
        elif not is_foreign(kind):
            raise item.refuse(f"Items of type '{quoted(kind)}'", ".type")

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

    def call(self, item: Json, answer: tuple[str, list[Json]] | None) -> None:
        if self._round is None:
            self._round = self._assistant_message()
            self._round["tool_calls"] = []
        self._join(self._round)
        function = {"name": item["name"], "arguments": item["arguments"]}
        self._round["tool_calls"].append({"id": item["call_id"], "type": "function", "function": function})
        if answer is not None:
            self._answer(item, *answer)

    def _answer(self, call: Json, text: str, others: list[Json]) -> None:
        if others:
            text += _FOLLOWS if not text else f"\n{_FOLLOWS}"
            told = {
                "type": "text",
                "text": f"The rest of what {call['name']} ({call['call_id']}) has put out:",
            }
            self._attached += [told, *others]
        self._answers.append({"role": "tool", "tool_call_id": call["call_id"], "content": text})

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
        if self._attached:
            self.messages.append({"role": "user", "content": self._attached})
        self._answers, self._attached = [], []
        self._round = None

    def _assistant_message(self) -> Json:
        """The message that the calls join: what the model said just before, or a new one."""
        if not self.messages or self.messages[-1]["role"] != "assistant" or "tool_calls" in self.messages[-1]:
            self.messages.append({"role": "assistant", "content": None})
        return self.messages[-1]


def _message(item: Given, dialect: Dialect) -> Json | None:
    """A message; None for an assistant message that says nothing, which servers refuse."""
    role = _ROLES.get(item.value["role"])
    if role is None:
        raise item.refuse(f"Messages of the role '{item.value['role']}'", ".role")
    parts = item.value["content"]
    if role != "assistant":
        return {"role": role, "content": content(item, parts, dialect)}
    refusal = "".join(part["refusal"] for part in parts if part["type"] == "refusal")
    said = content(item, [part for part in parts if part["type"] != "refusal"], dialect) or None
    if refusal:
        return {"role": role, "content": said, "refusal": refusal}
    return {"role": role, "content": said} if said else None
