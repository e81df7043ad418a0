"""Tool policies: the first rule that speaks of a tool decides, every policy must allow, a bad one names its fault."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responses_api.protocol.patterns import matches
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy, Tool, judge_all, judge_server, suppresses
from responses_api.protocol.policy_reading import PolicyError, policies_of, read_policy
from responses_api.protocol.policy_words import differences, rule_in_words, settings_in_words


def rule(name: str, effect: str, **fields: Any) -> Json:
    return {"id": name, "effect": effect, **fields}


def policy(*rules: Json, of: str = "tenant", version: int = 3, **fields: Any) -> Policy:
    return read_policy({"rules": list(rules), **fields}, of=of, version=version)


def function(name: str) -> Tool:
    return Tool("function", name)


def mcp(name: str, url: str = "https://mcp.good.example/x") -> Tool:
    return Tool("mcp", name, url)


def faults(plain: Any) -> list[tuple[str, str]]:
    with pytest.raises(PolicyError) as refused:
        read_policy(plain)
    return refused.value.faults


def test_the_first_rule_that_speaks_of_a_tool_decides() -> None:
    judged = policy(
        rule("box", "allow", tool="mailbox"), rule("mail", "deny", tool="mail*"), default_effect="allow"
    )
    assert [judged.judge(function(name), "m").rule for name in ("mailbox", "mailer", "clock")] == [
        "box",
        "mail",
        "default",
    ]
    assert [judged.judge(function(name), "m").effect for name in ("mailbox", "mailer", "clock")] == [
        "allow",
        "deny",
        "allow",
    ]


def test_a_verdict_says_whose_policy_which_version_and_why() -> None:
    verdict = policy(rule("mail", "deny", kind="function", tool="mail*", models=["a", "b-*"])).judge(
        function("mailer"), "b-1"
    )
    assert verdict.to_plain() == {
        "effect": "deny",
        "policy": "tenant",
        "version": 3,
        "rule": "mail",
        "why": "Rule 'mail' of the tenant's policy, version 3, denies functions named 'mail*' with the models "
        "'a' or 'b-*'.",
    }
    default = policy(of="key", version=0, default_effect="deny").judge(function("x"), "m")
    assert default.why == "The key's policy, a draft, denies what none of its rules speaks of."


@pytest.mark.parametrize(("model", "effect"), [("gpt-x", "deny"), ("gpt", "allow"), ("other", "allow")])
def test_a_rule_may_be_for_some_models(model: str, effect: str) -> None:
    judged = policy(rule("r", "deny", models=["gpt-*", "claude"]))
    assert judged.judge(function("f"), model).effect == effect


def test_a_rule_of_a_kind_speaks_of_no_other() -> None:
    judged = policy(rule("r", "deny", kind="mcp"))
    assert judged.judge(function("f"), "m").effect == "allow"
    assert judged.judge(Tool("hosted", "antiphon:x"), "m").effect == "allow"
    assert judged.judge(mcp("f"), "m").effect == "deny"


def test_mcp_tools_are_judged_by_their_server_and_name() -> None:
    judged = policy(
        rule("reads", "allow", kind="mcp", server="https://*.good.example", tool="read_*"),
        default_effect="deny",
    )
    assert judged.judge(mcp("read_file"), "m").effect == "allow"
    assert judged.judge(mcp("write_file"), "m").effect == "deny"
    assert judged.judge(mcp("read_file", "https://evil.example/"), "m").effect == "deny"
    assert judged.judge(function("read_file"), "m").effect == "deny"


@pytest.mark.parametrize("url", ["", "https://good.example@evil.example", "https://good.example/../x"])
def test_an_mcp_server_that_cannot_be_judged_is_refused_by_a_policy_that_allows_all(url: str) -> None:
    verdict = policy().judge(mcp("f", url), "m")
    assert (verdict.effect, verdict.rule) == ("deny", "server_url")


def test_hosted_tools_can_be_switched_off_whatever_the_rules_say() -> None:
    judged = policy(rule("all", "allow"), hosted_tools=False)
    assert judged.judge(Tool("hosted", "antiphon:search"), "m").rule == "hosted_tools"
    assert judged.judge(function("f"), "m").effect == "allow"


def test_every_policy_must_allow_and_those_that_refuse_are_named() -> None:
    tenant, key = policy(rule("t", "deny", tool="a")), policy(rule("k", "deny", tool="b"), of="key")
    assert [verdict.rule for verdict in judge_all((tenant, key), function("a"), "m")] == ["t"]
    assert [verdict.rule for verdict in judge_all((tenant, key), function("b"), "m")] == ["k"]
    assert [verdict.policy for verdict in judge_all((tenant, key), function("c"), "m")] == ["tenant", "key"]
    assert judge_all((), function("c"), "m") == ()


def test_a_call_is_left_out_only_where_all_that_refuse_it_want_that() -> None:
    quiet = policy(rule("t", "deny", tool="a*"), on_violation="suppress")
    loud = policy(rule("k", "deny", tool="ab"), of="key", on_violation="fail")
    both = (quiet, loud)
    assert suppresses(both, judge_all(both, function("a"), "m"))
    assert not suppresses(both, judge_all(both, function("ab"), "m"))
    assert not suppresses((), ())


@pytest.mark.parametrize(
    ("fields", "path", "said"),
    [
        ({"rules": {}}, "rules", "'rules' must be a list"),
        ({"rules": ["x"]}, "rules[0]", "Rule 1 must be a JSON object"),
        (
            {"rules": [rule("a", "forbid")]},
            "rules[0].effect",
            "Rule 1 ('a'): 'effect' must be 'allow' or 'deny'",
        ),
        ({"rules": [{"effect": "deny"}]}, "rules[0].id", "Rule 1: 'id' must be 1 to 64"),
        ({"rules": [rule("a b", "deny")]}, "rules[0].id", "'id' must be 1 to 64"),
        ({"rules": [rule("default", "deny")]}, "rules[0].id", "must not be 'default'"),
        (
            {"rules": [rule("a", "deny"), rule("a", "allow")]},
            "rules[1].id",
            "Rule 2 ('a'): 'id' must be another",
        ),
        ({"rules": [rule("a", "deny", kind="tool")]}, "rules[0].kind", "'kind' must be"),
        ({"rules": [rule("a", "deny", kind=["any"])]}, "rules[0].kind", "'kind' must be"),
        ({"rules": [rule("a", "deny", tool="")]}, "rules[0].tool", "'tool' must be a name"),
        ({"rules": [rule("a", "deny", tool=" f")]}, "rules[0].tool", "space"),
        ({"rules": [rule("a", "deny", tool=7)]}, "rules[0].tool", "'tool' must be a name"),
        ({"rules": [rule("a", "deny", models="m")]}, "rules[0].models", "'models' must be a list"),
        ({"rules": [rule("a", "deny", models=[""])]}, "rules[0].models", "'models' must be a name"),
        ({"rules": [rule("a", "deny", server="https://x.example")]}, "rules[0].server", "kind 'mcp' only"),
        (
            {"rules": [rule("a", "deny", kind="mcp", server="https://good.example.*")]},
            "rules[0].server",
            "'server' may have a '*' in its host only",
        ),
        ({"rules": [rule("a", "deny", toool="x")]}, "rules[0]", "there is no field 'toool'"),
        ({"rules": [rule(f"r{n}", "deny") for n in range(201)]}, "rules", "at most 200"),
        ({"deny": []}, "", "there is no field 'deny'"),
        ({"default_effect": "maybe"}, "default_effect", "'default_effect' must be"),
        ({"hosted_tools": "no"}, "hosted_tools", "must be true or false"),
        ({"on_violation": None}, "on_violation", "'on_violation' must be"),
        ({"max_tool_calls": 0}, "max_tool_calls", "from 1 on"),
        ({"max_tool_calls": True}, "max_tool_calls", "from 1 on"),
        ({"max_tool_calls": 1.5}, "max_tool_calls", "from 1 on"),
    ],
)
def test_a_policy_that_cannot_be_names_its_rule_and_field(fields: Json, path: str, said: str) -> None:
    ((found, sentence),) = faults(fields)
    assert found == path
    assert said in sentence


def test_everything_that_is_wrong_is_told_at_once() -> None:
    wrong = {"rules": [rule("a", "x"), {"id": "b", "effect": "deny", "tool": ""}], "default_effect": "y"}
    assert [path for path, _ in faults(wrong)] == ["rules[0].effect", "rules[1].tool", "default_effect"]
    assert faults([])[0][1] == "A policy must be a JSON object."


def test_a_policy_travels_as_plain_data() -> None:
    made = policy(
        rule("a", "deny", kind="mcp", server="https://*.x.example/y*", tool="t*", models=["m"]),
        default_effect="deny",
        hosted_tools=False,
        on_violation="suppress",
        max_tool_calls=2,
    )
    (again,) = policies_of([{**made.to_plain(), "of": "tenant", "version": 3, "id": "some"}])
    assert again == made
    assert again.judge(mcp("t1", "https://a.x.example/yes"), "m").rule == "a"
    assert policies_of(None) == ()


NAMES = st.text("ab", min_size=1, max_size=3)
PATTERNS = st.text("ab*", min_size=1, max_size=3)
RULES = st.lists(st.tuples(PATTERNS, st.sampled_from(["allow", "deny"])), max_size=5)


@given(RULES, RULES, st.sampled_from(["allow", "deny"]), NAMES)
def test_what_several_policies_say_is_what_each_says_alone(
    first: list[tuple[str, str]], second: list[tuple[str, str]], default: str, name: str
) -> None:
    def made(rules: list[tuple[str, str]], of: str) -> Policy:
        plain = [rule(f"r{n}", effect, tool=pattern) for n, (pattern, effect) in enumerate(rules)]
        return policy(*plain, of=of, default_effect=default)

    def alone(rules: list[tuple[str, str]]) -> str:
        return next((effect for pattern, effect in rules if matches(pattern, name)), default)

    both = judge_all((made(first, "tenant"), made(second, "key")), function(name), "m")
    assert {verdict.effect for verdict in both} == {
        "deny" if "deny" in (alone(first), alone(second)) else "allow"
    }


def test_a_policy_is_told_in_words() -> None:
    made = policy(rule("all", "deny"), rule("m", "allow", kind="mcp", server="https://x.example"))
    assert [rule_in_words(one) for one in made.rules] == [
        "Denies all tools.",
        "Allows MCP tools of servers at 'https://x.example'.",
    ]
    assert settings_in_words(made) == [
        "What no rule speaks of is allowed.",
        "Tools that this server runs may be used, as far as the rules allow them.",
        "A call that is refused fails the response.",
        "A response may make any number of calls.",
    ]


def test_what_changed_is_told_in_words() -> None:
    before = policy(rule("a", "deny", tool="x"), rule("b", "allow"), rule("c", "allow", tool="c"))
    after = policy(
        rule("c", "allow", tool="c"), rule("a", "deny", tool="y"), rule("d", "deny"), max_tool_calls=1
    )
    assert differences(before, after) == [
        "Removed rule 'b': allows all tools.",
        "Changed rule 'a': denies tools named 'y'; before, it denies tools named 'x'.",
        "Added rule 'd': denies all tools.",
        "Reordered: the rules are asked in the order c, a, d.",
        "A response may make at most 1 call. Before: A response may make any number of calls.",
    ]
    assert differences(after, after) == []
    assert differences(None, policy())[0] == "What no rule speaks of is allowed."


ASKED = rule("asked", "approve", kind="mcp", tool="delete*")


def test_a_rule_may_let_a_call_once_its_client_approves() -> None:
    judged = policy(ASKED)
    verdict = judged.judge(mcp("delete_all"), "m")
    assert (verdict.effect, verdict.rule) == ("approve", "asked")
    assert verdict.why == (
        "Rule 'asked' of the tenant's policy, version 3, allows, once the client has approved each call, MCP tools"
        " named 'delete*'."
    )
    assert judged.judge(mcp("read"), "m").effect == "allow"
    assert judged.judge(function("delete_all"), "m").effect == "allow"


def test_a_rule_of_any_tool_asks_for_what_the_service_runs_and_for_no_function() -> None:
    judged = policy(rule("asked", "approve"))
    assert judged.judge(mcp("read"), "m").effect == "approve"
    assert judged.judge(Tool("hosted", "antiphon:file_search"), "m").effect == "approve"
    assert judged.judge(function("read"), "m").effect == "allow"


@pytest.mark.parametrize("kind", ["function", "backend_option"])
def test_what_the_client_runs_by_itself_waits_for_no_approval(kind: str) -> None:
    ((path, sentence),) = faults({"rules": [rule("a", "approve", kind=kind)]})
    assert path == "rules[0].effect"
    assert "of the kinds 'mcp', 'hosted' and 'any' only" in sentence


def test_nothing_is_approved_by_default() -> None:
    ((path, _),) = faults({"default_effect": "approve"})
    assert path == "default_effect"


@pytest.mark.parametrize(
    ("rules", "effects"),
    [
        (["allow", "approve"], ["approve"]),
        (["approve", "deny"], ["deny"]),
        (["approve", "approve"], ["approve", "approve"]),
        (["allow", "allow"], ["allow", "allow"]),
    ],
)
def test_of_two_policies_any_refusal_decides_and_else_any_that_asks(
    rules: list[str], effects: list[str]
) -> None:
    both = [
        policy(rule("r", effect, kind="mcp"), of=of)
        for effect, of in zip(rules, ("tenant", "key"), strict=True)
    ]
    assert [verdict.effect for verdict in judge_all(both, mcp("x"), "m")] == effects


URL = "https://mcp.good.example/x"


@pytest.mark.parametrize(
    ("rules", "default", "effect"),
    [
        ([], "allow", "allow"),
        ([], "deny", "deny"),
        ([rule("r", "deny", kind="mcp")], "allow", "deny"),
        ([rule("r", "deny", kind="mcp", tool="a*")], "allow", "allow"),
        ([rule("r", "allow", kind="mcp", tool="a*")], "deny", "allow"),
        ([rule("a", "deny", kind="mcp", tool="a"), rule("b", "deny", kind="mcp")], "allow", "deny"),
        ([rule("a", "allow", kind="mcp", tool="a"), rule("b", "deny", kind="mcp")], "allow", "allow"),
        ([rule("r", "deny", kind="mcp", server="https://*.evil.example")], "allow", "allow"),
        ([rule("r", "deny", kind="mcp", server="https://*.good.example")], "allow", "deny"),
        ([rule("r", "deny", kind="mcp", models=["other"])], "allow", "allow"),
        ([rule("r", "deny", kind="function")], "allow", "allow"),
        ([rule("r", "approve")], "deny", "approve"),
    ],
)
def test_a_server_is_denied_where_no_tool_of_it_could_be_called(
    rules: list[Json], default: str, effect: str
) -> None:
    (verdict,) = judge_server([policy(*rules, default_effect=default)], URL, "m")
    assert verdict.effect == effect


def test_a_server_that_cannot_be_read_is_denied() -> None:
    (verdict,) = judge_server([policy()], "https://good.example@evil.example/", "m")
    assert (verdict.effect, verdict.rule) == ("deny", "server_url")
