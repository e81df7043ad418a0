"""Tool policies: which tools the responses of a tenant or a key may call, and which rule says so.

A policy is a list of rules. The first one that speaks of a tool decides; where none does, the policy's default effect
holds. Tools that this server runs can be switched off as a whole. A call must be allowed by every policy in force.
Backend options (`protocol.backend_options`) are judged in the same way, by rules that are of nothing else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from responses_api.protocol.patterns import ANY, matches
from responses_api.protocol.plain import Json
from responses_api.protocol.server_urls import ServerPattern, ServerUrl, UrlError, read_url
from responses_api.protocol.wording import quoted

Effect = Literal["allow", "deny", "approve"]
"""`approve`: allowed once the client has approved the call. Calls of tools that the service runs can wait for that."""
DefaultEffect = Literal["allow", "deny"]
Kind = Literal["function", "mcp", "hosted", "backend_option", "any"]
ToolKind = Literal["function", "mcp", "hosted", "backend_option"]
OnViolation = Literal["suppress", "fail"]

REPORT: Final = "antiphon:policy"
"""The field of a response that has ended that lists the calls which were left out of it."""

DEFAULT_RULE: Final = "default"
HOSTED_RULE: Final = "hosted_tools"
SERVER_RULE: Final = "server_url"
MOST_RULE: Final = "max_tool_calls"
OWN_RULES: Final = frozenset({DEFAULT_RULE, HOSTED_RULE, SERVER_RULE, MOST_RULE})
"""What a verdict names instead of a rule, so no rule has such a name."""

_PLURALS: Final[dict[Kind, str]] = {
    "function": "functions",
    "mcp": "MCP tools",
    "hosted": "hosted tools",
    "backend_option": "backend options",
    "any": "tools",
}


_VERBS: Final[dict[Effect, str]] = {
    "allow": "allows",
    "deny": "denies",
    "approve": "allows, once the client has approved each call,",
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that is called: a function of the caller's by its name, a tool of an MCP server, or one of this server's
    own by its type (`antiphon:search`). Judged as one: a backend option, by its name.
    """

    kind: ToolKind
    name: str
    server_url: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `tool` and `models` are patterns of names (no models: every model); `server`, as it was written, and
    `server_pattern` are of MCP servers only.
    """

    id: str
    effect: Effect
    kind: Kind = "any"
    tool: str = ANY
    server: str = ""
    models: tuple[str, ...] = ()
    server_pattern: ServerPattern | None = field(default=None, compare=False)

    def speaks_of(self, tool: Tool, server: ServerUrl | None, model: str) -> bool:
        """Whether the rule is about this tool; `server` is its address, read."""
        return (
            (self.kind == tool.kind or (self.kind == "any" and tool.kind != "backend_option"))
            and matches(self.tool, tool.name)
            and (not self.models or any(matches(pattern, model) for pattern in self.models))
            and (self.server_pattern is None or (server is not None and self.server_pattern.matches(server)))
        )

    def to_plain(self) -> Json:
        """The rule as it is stored."""
        return {
            "id": self.id,
            "effect": self.effect,
            "kind": self.kind,
            "tool": self.tool,
            "server": self.server,
            "models": list(self.models),
        }

    def in_words(self) -> str:
        """What the rule says, as the end of a sentence: `denies functions named 'mail*' with the model 'm'`."""
        words = [
            _VERBS[self.effect],
            ("all " if self._is_of_all else "") + _PLURALS[self.kind],
        ]
        if self.tool != ANY:
            words.append(f"named '{quoted(self.tool)}'")
        if self.server:
            words.append(f"of servers at '{quoted(self.server)}'")
        if self.models:
            models = " or ".join(f"'{quoted(model)}'" for model in self.models)
            words.append(f"with the {'model' if len(self.models) == 1 else 'models'} {models}")
        return " ".join(words)

    @property
    def _is_of_all(self) -> bool:
        return self.tool == ANY and not self.server and not self.models


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one policy says of a call, by which rule and why. `policy` is whose it is (`tenant`, `key`), or `request`
    for what a request itself says; that has no version.
    """

    effect: Effect
    policy: str
    version: int | None
    rule: str
    why: str

    def to_plain(self) -> Json:
        """Every field as JSON."""
        return {
            "effect": self.effect,
            "policy": self.policy,
            "version": self.version,
            "rule": self.rule,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Policy:
    """One version of a policy, of a `tenant` or of a `key`; 0 is a draft that nobody has saved."""

    rules: tuple[Rule, ...] = ()
    default_effect: DefaultEffect = "allow"
    hosted_tools: bool = True
    on_violation: OnViolation = "fail"
    max_tool_calls: int | None = None
    of: Literal["tenant", "key"] = "tenant"
    version: int = 0

    @property
    def name(self) -> str:
        """The policy in a sentence: `the tenant's policy, version 3`."""
        return f"the {self.of}'s policy, {f'version {self.version}' if self.version else 'a draft'}"

    def judge(self, tool: Tool, model: str) -> Verdict:
        """Whether this policy lets responses of the public model name `model` call a tool."""
        server = None
        if tool.kind == "hosted" and not self.hosted_tools:
            return self._verdict("deny", HOSTED_RULE, "switches tools that this server runs off.")
        if tool.kind == "mcp":
            try:
                server = read_url(tool.server_url)
            except UrlError as error:
                return self._unreadable(error)
        for rule in self.rules:
            if rule.speaks_of(tool, server, model):
                return self._by(rule, tool.kind)
        return self._by_default()

    def judge_server(self, server_url: str, model: str) -> Verdict:
        """Whether this policy lets responses of a model call any tool of an MCP server at all: the verdict of the first
        rule that lets one, or else what denies them all.
        """
        try:
            server = read_url(server_url)
        except UrlError as error:
            return self._unreadable(error)
        for rule in self.rules:
            any_name = Tool("mcp", rule.tool, server_url)
            is_of_all = rule.tool == ANY
            if not rule.speaks_of(any_name, server, model) or (rule.effect == "deny" and not is_of_all):
                continue
            return self._by(rule, "mcp")
        return self._by_default()

    def refuse_more(self) -> Verdict:
        """The verdict on a call after as many as this policy allows in a response."""
        return self._verdict("deny", MOST_RULE, f"allows at most {self.max_tool_calls} calls in a response.")

    def _by(self, rule: Rule, kind: ToolKind) -> Verdict:
        # Who runs a function is the client: it is asked anyway.
        effect = "allow" if rule.effect == "approve" and kind == "function" else rule.effect
        why = f"Rule '{rule.id}' of {self.name}, {rule.in_words()}."
        return Verdict(effect, self.of, self.version, rule.id, why)

    def _by_default(self) -> Verdict:
        what = "allows" if self.default_effect == "allow" else "denies"
        return self._verdict(self.default_effect, DEFAULT_RULE, f"{what} what none of its rules speaks of.")

    def _unreadable(self, error: UrlError) -> Verdict:
        return self._verdict("deny", SERVER_RULE, f"cannot judge its server: the address {error}.")

    def _verdict(self, effect: Effect, rule: str, what: str) -> Verdict:
        name = self.name[0].upper() + self.name[1:]
        return Verdict(effect, self.of, self.version, rule, f"{name}, {what}")

    def to_plain(self) -> Json:
        """What people decide about a policy, as it is stored and as `policy_reading.read_policy` takes it."""
        return {
            "rules": [rule.to_plain() for rule in self.rules],
            "default_effect": self.default_effect,
            "hosted_tools": self.hosted_tools,
            "on_violation": self.on_violation,
            "max_tool_calls": self.max_tool_calls,
        }


def judge_all(policies: Iterable[Policy], tool: Tool, model: str) -> tuple[Verdict, ...]:
    """The verdicts that decide about a tool: those that refuse it, or else those that demand an approval, or where all
    let it theirs. None for no policies.
    """
    return deciding(policy.judge(tool, model) for policy in policies)


def judge_server(policies: Iterable[Policy], server_url: str, model: str) -> tuple[Verdict, ...]:
    """The verdicts that decide about an MCP server as a whole: those that deny all its tools, or those that let one."""
    return deciding(policy.judge_server(server_url, model) for policy in policies)


def denying(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Those of the verdicts that refuse."""
    return tuple(verdict for verdict in verdicts if verdict.effect == "deny")


def demanding_approval(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Those of the verdicts that let a call only where its client allows it."""
    return tuple(verdict for verdict in verdicts if verdict.effect == "approve")


def deciding(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Of the verdicts of several policies those that decide: any that denies, or else any that demands an approval."""
    all_of_them = tuple(verdicts)
    return denying(all_of_them) or demanding_approval(all_of_them) or all_of_them


def suppresses(policies: Sequence[Policy], verdicts: Iterable[Verdict]) -> bool:
    """Whether a refused call is left out rather than failing the response: where all that refuse it want that; where
    only the request itself refuses it, all policies in force.
    """
    refusing = {verdict.policy for verdict in verdicts}
    asked = [policy for policy in policies if policy.of in refusing] or policies
    return bool(asked) and all(policy.on_violation == "suppress" for policy in asked)
