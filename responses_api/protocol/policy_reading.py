"""A tool policy read from plain data, with everything that is wrong in it named by its rule and field."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import orjson

from responses_api.protocol.patterns import ANY
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import OWN_RULES, Policy, Rule
from responses_api.protocol.server_urls import ServerPattern, UrlError, read_pattern
from responses_api.protocol.wording import quoted

MOST_RULES: Final = 200
MOST_MODELS: Final = 50
LONGEST_PATTERN: Final = 200
_LARGEST: Final = 2**31 - 1
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FIELDS: Final = ("rules", "default_effect", "hosted_tools", "on_violation", "max_tool_calls")
_RULE_FIELDS: Final = ("id", "effect", "kind", "tool", "server", "models")
_DEFAULT_EFFECTS: Final = ("allow", "deny")
_EFFECTS: Final = ("allow", "deny", "approve")
_WITHOUT_APPROVAL: Final = ("function", "backend_option")
_KINDS: Final = ("any", "function", "mcp", "hosted", "backend_option")
_ON_VIOLATION: Final = ("suppress", "fail")


class PolicyError(ValueError):
    """A policy that cannot be. `faults` are pairs of a field's path (`rules[1].tool`) and a sentence, in order."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        super().__init__(" ".join(sentence for _, sentence in faults))
        self.faults = faults


def policies_of(plain: Iterable[Json] | None) -> tuple[Policy, ...]:
    """The policies that travel with a job (`tenants.policies.plain_policy`). Raises `PolicyError`."""
    return tuple(
        _known(orjson.dumps({name: version[name] for name in _FIELDS}), version["of"], version["version"])
        for version in plain or ()
    )


@lru_cache(maxsize=1024)
def _known(plain: bytes, of: str, version: int) -> Policy:
    """Read once what every request of a key brings with it: a version never changes."""
    return read_policy(orjson.loads(plain), of=of, version=version)


def read_policy(plain: Any, *, of: Any = "tenant", version: int = 0) -> Policy:
    """Read a policy: an object with `rules`, `default_effect`, `hosted_tools`, `on_violation`, `max_tool_calls`, each
    of which may be left out. Raises `PolicyError` with everything that is wrong.
    """
    if not isinstance(plain, dict):
        raise PolicyError([("", "A policy must be a JSON object.")])
    reading = _Reading()
    reading.refuse_unknown(plain, _FIELDS, "", "The policy")
    policy = Policy(
        rules=reading.rules(plain.get("rules", [])),
        default_effect=reading.one_of(
            plain.get("default_effect", "allow"), _DEFAULT_EFFECTS, "default_effect"
        ),
        hosted_tools=reading.switch(plain.get("hosted_tools", True)),
        on_violation=reading.one_of(plain.get("on_violation", "fail"), _ON_VIOLATION, "on_violation"),
        max_tool_calls=reading.most(plain.get("max_tool_calls")),
        of=of,
        version=version,
    )
    if reading.faults:
        raise PolicyError(reading.faults)
    return policy


class _Reading:
    """What was found wrong so far. Each reader returns a value in any case, of which nothing is made after a fault."""

    def __init__(self) -> None:
        self.faults: list[tuple[str, str]] = []

    def blame(self, path: str, what: str, place: str = "The policy") -> None:
        """Write down that the field at `path` is wrong: `what` completes the sentence."""
        self.faults.append((path, f"{place}: '{path.rpartition('.')[2]}' {what}."))

    def refuse_unknown(self, plain: Json, known: tuple[str, ...], path: str, place: str) -> None:
        """A misspelt field would be a rule that does not hold."""
        for name in plain:
            if name not in known:
                shown = quoted(str(name))
                fields = ", ".join(known)
                self.faults.append((path, f"{place}: there is no field '{shown}'; there are: {fields}."))

    def one_of(self, value: Any, choices: tuple[str, ...], path: str, place: str = "The policy") -> Any:
        if value not in choices or not isinstance(value, str):
            self.blame(path, f"must be {' or '.join(repr(choice) for choice in choices)}", place)
        return value

    def switch(self, value: Any) -> bool:
        if not isinstance(value, bool):
            self.blame("hosted_tools", "must be true or false")
        return bool(value)

    def most(self, value: Any) -> int | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
            self.blame("max_tool_calls", "must be a whole number from 1 on, or null for any number")
            return None
        return value

    def rules(self, given: Any) -> tuple[Rule, ...]:
        if not isinstance(given, list):
            self.blame("rules", "must be a list of rules")
            return ()
        if len(given) > MOST_RULES:
            self.blame("rules", f"must have at most {MOST_RULES} rules")
            return ()
        rules = [self._rule(rule, index) for index, rule in enumerate(given)]
        self._refuse_twins(rules)
        return tuple(rule for rule in rules if rule is not None)

    def _rule(self, given: Any, index: int) -> Rule | None:
        path = f"rules[{index}]"
        if not isinstance(given, dict):
            self.faults.append((path, f"Rule {index + 1} must be a JSON object."))
            return None
        place = _place(index, given.get("id"))
        self.refuse_unknown(given, _RULE_FIELDS, path, place)
        kind = self.one_of(given.get("kind", "any"), _KINDS, f"{path}.kind", place)
        server = given.get("server", "")
        return Rule(
            id=self._id(given.get("id"), path, place),
            effect=self._effect(given.get("effect"), kind, f"{path}.effect", place),
            kind=kind,
            tool=self._pattern(given.get("tool", ANY), f"{path}.tool", place),
            server=server,
            models=self._models(given.get("models", []), f"{path}.models", place),
            server_pattern=self._server(server, kind, f"{path}.server", place),
        )

    def _effect(self, value: Any, kind: Any, path: str, place: str) -> Any:
        effect = self.one_of(value, _EFFECTS, path, place)
        if effect == "approve" and kind in _WITHOUT_APPROVAL:
            self.blame(
                path,
                "may be 'approve' in rules of the kinds 'mcp', 'hosted' and 'any' only: what the client runs by itself"
                " does not wait for its approval",
                place,
            )
        return effect

    def _id(self, value: Any, path: str, place: str) -> str:
        if not isinstance(value, str) or not _ID.fullmatch(value):
            self.blame(f"{path}.id", "must be 1 to 64 letters, digits, '_' or '-'", place)
            return ""
        if value in OWN_RULES:
            self.blame(f"{path}.id", f"must not be '{value}', which verdicts say of the policy itself", place)
        return value

    def _pattern(self, value: Any, path: str, place: str) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= LONGEST_PATTERN or not value.isprintable():
            self.blame(
                path,
                f"must be a name of 1 to {LONGEST_PATTERN} printable characters, in which '*' stands for any",
                place,
            )
            return ANY
        if value != value.strip():
            self.blame(path, "must not begin or end with a space", place)
        return value

    def _models(self, value: Any, path: str, place: str) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > MOST_MODELS:
            self.blame(path, f"must be a list of at most {MOST_MODELS} names of models", place)
            return ()
        return tuple(self._pattern(model, path, place) for model in value)

    def _server(self, value: Any, kind: Any, path: str, place: str) -> ServerPattern | None:
        if not isinstance(value, str):
            self.blame(path, "must be a pattern of addresses, or '' for every server", place)
            return None
        if not value:
            return None
        if kind != "mcp":
            self.blame(path, "is for rules of the kind 'mcp' only: no other tool has a server", place)
            return None
        try:
            return read_pattern(value)
        except UrlError as error:
            self.blame(path, str(error), place)
            return None

    def _refuse_twins(self, rules: list[Rule | None]) -> None:
        seen: set[str] = set()
        for index, rule in enumerate(rules):
            if rule is None:
                continue
            if rule.id and rule.id in seen:
                place = _place(index, rule.id)
                self.blame(f"rules[{index}].id", "must be another one than that of a rule before", place)
            seen.add(rule.id)


def _place(index: int, rule_id: Any) -> str:
    named = isinstance(rule_id, str) and rule_id
    return f"Rule {index + 1} ('{quoted(rule_id)}')" if named else f"Rule {index + 1}"
