"""The rules: each a coroutine that looks at one thing, with its id, its sentence, and where it is written.

A rule returns when the server keeps it and raises an `Outcome` otherwise.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from responses_api.conformance.server import Server

Demand = Literal["must", "should", "extension"]
"""What the specification says: a MUST or a schema; a recommendation or what its examples imply; nothing."""

Check = Callable[[Server], Awaitable[None]]

SECTIONS: Final = frozenset(
    {
        "HTTP Requests",
        "HTTP Responses",
        "WebSocket Transport",
        "WebSocket Continuation",
        "WebSocket Compaction",
        "WebSocket Reconnects",
        "WebSocket Errors",
        "Items",
        "Items are polymorphic",
        "Items are state machines",
        "Items are streamable",
        "Items are extensible",
        "Content",
        "Reasoning",
        "Errors",
        "Error Types",
        "Streaming",
        "Tools",
        "Externally-hosted tools",
        "previous_response_id",
        "tool_choice",
        "allowed_tools",
        "truncation",
        "service_tier",
        "Extending tools",
        "Extending Items",
        "Extending streaming events",
        "Extending existing schemas",
        "CreateResponseBody",
        "ResponseResource",
        "CompactResource",
    }
)
"""The headings of the specification, release 2026-04-24, and the schemas, that rules cite."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `id` is `topic.name`; `section` is where the specification speaks of it."""

    id: str
    sentence: str
    section: str
    demand: Demand
    check: Check

    @property
    def topic(self) -> str:
        """The part of the id that rules of one kind share."""
        return self.id.partition(".")[0]


_RULES: dict[str, Rule] = {}


def rule(rule_id: str, sentence: str, *, section: str, demand: Demand = "must") -> Callable[[Check], Check]:
    """Register the decorated coroutine as the check of a rule. Raises ValueError for an id or a section in error."""

    def register(check: Check) -> Check:
        if rule_id in _RULES:
            raise ValueError(f"there are two rules '{rule_id}'")
        if section not in SECTIONS:
            raise ValueError(f"'{section}', cited by '{rule_id}', is no section of the specification")
        _RULES[rule_id] = Rule(rule_id, sentence, section, demand, check)
        return check

    return register


def select(only: Iterable[str] = ()) -> list[Rule]:
    """The rules in their order; of those only the ones named, each by its id or its topic.

    Raises ValueError for a name that no rule has.
    """
    wanted = set(only)
    known = {name for rule in _RULES.values() for name in (rule.id, rule.topic)}
    if not wanted <= known:
        raise ValueError(f"there is no rule or topic {', '.join(sorted(wanted - known))}")
    return [rule for rule in _RULES.values() if not wanted or {rule.id, rule.topic} & wanted]
