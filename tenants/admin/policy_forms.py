"""The form of a tool policy: its settings, and a row for each rule, put in order by numbers."""

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django import forms
from django.forms.formsets import BaseFormSet

from responses_api.protocol.patterns import ANY
from responses_api.protocol.plain import Json
from responses_api.protocol.policy import Policy
from responses_api.protocol.policy_reading import LONGEST_PATTERN, MOST_RULES, PolicyError, read_policy
from tenants.models.policy import EFFECTS, ON_VIOLATION

if TYPE_CHECKING:
    _FormSet: TypeAlias = BaseFormSet["RuleForm"]
else:
    _FormSet = BaseFormSet  # not subscriptable when it runs

_EXTRA: Final = 2
_STEP: Final = 10
_KINDS: Final = (
    ("any", "any tool"),
    ("function", "functions of the caller"),
    ("mcp", "tools of MCP servers"),
    ("hosted", "tools that this server runs"),
    ("backend_option", "backend options"),
)
_RULE_EFFECTS: Final = (("deny", "deny"), ("allow", "allow"), ("approve", "allow once the client approves"))
_RULE_PATH: Final = re.compile(r"rules\[(\d+)\](?:\.(\w+))?")


class SettingsForm(forms.Form):
    """What a policy says besides its rules."""

    default_effect = forms.ChoiceField(label="What no rule speaks of is", choices=EFFECTS)
    on_violation = forms.ChoiceField(label="When a call is refused", choices=ON_VIOLATION)
    max_tool_calls = forms.IntegerField(
        label="Most calls in a response",
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Empty: any number.",
    )
    hosted_tools = forms.BooleanField(label="Tools that this server runs may be used", required=False)
    based_on = forms.IntegerField(widget=forms.HiddenInput, min_value=0)


class RuleForm(forms.Form):
    """One rule. A row that nobody has touched is no rule."""

    effect = forms.ChoiceField(label="Effect", choices=_RULE_EFFECTS, initial="deny")
    kind = forms.ChoiceField(label="Of", choices=_KINDS, initial="any")
    tool = forms.CharField(
        label="Name",
        max_length=LONGEST_PATTERN,
        required=False,
        help_text="Of the tool, or the option; * stands for any characters.",
    )
    server = forms.CharField(
        label="MCP server",
        max_length=2048,
        required=False,
        help_text="For MCP only, like https://*.example.com/mcp",
    )
    models = forms.CharField(
        label="Models", required=False, help_text="Names or patterns with commas between. Empty: every model."
    )
    id = forms.CharField(label="Rule name", max_length=64, required=False, help_text="Responses record it.")


class RuleFormSet(_FormSet):
    """The rows. Numbers say their order; a row that is marked is left out."""

    def add_fields(self, form: RuleForm, index: int | None) -> None:
        """The number and the mark of a row, in words."""
        super().add_fields(form, index)
        form.fields["ORDER"].label = "Place"
        form.fields["ORDER"].help_text = "The lowest number is asked first."
        form.fields["DELETE"].label = "Delete this rule"


_Rows: Final = forms.formset_factory(
    RuleForm,
    formset=RuleFormSet,
    can_order=True,
    can_delete=True,
    extra=_EXTRA,
    max_num=MOST_RULES,
    absolute_max=MOST_RULES + _EXTRA,
)


class PolicyForm:
    """Both parts of the form as one: what it was given, and the policy that it says."""

    def __init__(self, policy: Policy | None = None, based_on: int = 0, data: Any = None) -> None:
        self.policy: Policy | None = None
        if data is not None:
            self.settings = SettingsForm(data)
            self.rules = _Rows(data, prefix="rules")
            return
        start = policy or Policy()
        plain = start.to_plain()
        self.settings = SettingsForm(initial={**plain, "based_on": based_on})
        self.rules = _Rows(initial=[_row(rule) for rule in plain["rules"]], prefix="rules")

    @property
    def based_on(self) -> int:
        """The version that was changed, once the form is valid."""
        return int(self.settings.cleaned_data["based_on"])

    def is_valid(self) -> bool:
        """Whether it says a policy, which `policy` then is; what is wrong stands at its field."""
        if not all([self.settings.is_valid(), self.rules.is_valid()]):
            return False
        rows = [form for form in self.rules.ordered_forms if form.has_changed()]
        try:
            self.policy = read_policy({**self._settings(), "rules": _rules(rows)})
        except PolicyError as error:
            for path, sentence in error.faults:
                self._blame(rows, path, sentence)
            return False
        return True

    def _settings(self) -> Json:
        cleaned = self.settings.cleaned_data
        return {name: cleaned[name] for name in cleaned if name != "based_on"}

    def _blame(self, rows: list[RuleForm], path: str, sentence: str) -> None:
        found = _RULE_PATH.match(path)
        if found:
            rows[int(found[1])].add_error(found[2], sentence)
        else:
            self.settings.add_error(path if path in self.settings.fields else None, sentence)


def with_more_rows(data: Any) -> Any:
    """What was posted, with a few more rows that are empty."""
    more = data.copy()
    try:
        count = int(more.get("rules-TOTAL_FORMS", "0"))
    except ValueError:
        count = 0
    more["rules-TOTAL_FORMS"] = str(min(max(count, 0) + _EXTRA, MOST_RULES))
    for index in range(count, count + _EXTRA):
        more.setdefault(f"rules-{index}-effect", "deny")
        more.setdefault(f"rules-{index}-kind", "any")
    return more


def with_base(data: Any, version: int) -> Any:
    """What was posted, as a change of this version."""
    moved = data.copy()
    moved["based_on"] = str(version)
    return moved


def _row(rule: Json) -> Json:
    return {**rule, "models": ", ".join(rule["models"])}


def _rules(rows: list[RuleForm]) -> list[Json]:
    """The rules of the rows, each with a name."""
    given = [row.cleaned_data for row in rows]
    taken = {row["id"] for row in given}
    return [
        {
            "id": row["id"] or _free_name(taken),
            "effect": row["effect"],
            "kind": row["kind"],
            "tool": row["tool"] or ANY,
            "server": row["server"],
            "models": [name for name in re.split(r"[\s,]+", row["models"]) if name],
        }
        for row in given
    ]


def _free_name(taken: set[str]) -> str:
    name = next(name for number in range(1, 2 * MOST_RULES + 2) if (name := f"rule-{number}") not in taken)
    taken.add(name)
    return name
