"""Tool policies as people read them: what a policy says, and what two versions of it say differently."""

from responses_api.protocol.policy import Policy, Rule


def settings_in_words(policy: Policy) -> list[str]:
    """What a policy says besides its rules, a sentence each."""
    return [_default(policy), _hosted(policy), _violation(policy), _most(policy)]


def rule_in_words(rule: Rule) -> str:
    """A rule as a sentence."""
    words = rule.in_words()
    return f"{words[0].upper()}{words[1:]}."


def differences(before: Policy | None, after: Policy) -> list[str]:
    """What the second version says otherwise than the first, a sentence each; all of it where there was none before."""
    if before is None:
        return [f"Added rule '{rule.id}': {rule.in_words()}." for rule in after.rules] + settings_in_words(
            after
        )
    return [*_of_rules(before, after), *_of_settings(before, after)]


def _of_rules(before: Policy, after: Policy) -> list[str]:
    old = {rule.id: rule for rule in before.rules}
    new = {rule.id: rule for rule in after.rules}
    told = [f"Removed rule '{name}': {rule.in_words()}." for name, rule in old.items() if name not in new]
    for name, rule in new.items():
        if name not in old:
            told.append(f"Added rule '{name}': {rule.in_words()}.")
        elif rule != old[name]:
            told.append(f"Changed rule '{name}': {rule.in_words()}; before, it {old[name].in_words()}.")
    kept_before = [name for name in old if name in new]
    kept_after = [name for name in new if name in old]
    if kept_before != kept_after:
        told.append(f"Reordered: the rules are asked in the order {', '.join(new)}.")
    return told


def _of_settings(before: Policy, after: Policy) -> list[str]:
    pairs = zip(settings_in_words(before), settings_in_words(after), strict=True)
    return [f"{now} Before: {then}" for then, now in pairs if then != now]


def _default(policy: Policy) -> str:
    return f"What no rule speaks of is {'allowed' if policy.default_effect == 'allow' else 'denied'}."


def _hosted(policy: Policy) -> str:
    if policy.hosted_tools:
        return "Tools that this server runs may be used, as far as the rules allow them."
    return "Tools that this server runs are switched off."


def _violation(policy: Policy) -> str:
    if policy.on_violation == "suppress":
        return "A call that is refused is left out, and the response goes on."
    return "A call that is refused fails the response."


def _most(policy: Policy) -> str:
    most = policy.max_tool_calls
    if most is None:
        return "A response may make any number of calls."
    return f"A response may make at most {most} {'call' if most == 1 else 'calls'}."
