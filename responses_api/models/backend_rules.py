"""What a backend's row may say: the rules that concern its lists, and several of its fields together."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from responses_api.protocol.backend import NATIVE
from responses_api.protocol.backend_options import ANY, NAME, fault_of_defaults

MOST_ENTRIES: Final = 100

_CHAT: Final = frozenset({"chat_completions", "openai_chat_completions"})
"""The kinds whose upstreams may leave reasoning in the text."""

_COUNTED_BY: Final[Mapping[str, frozenset[str]]] = {
    "llama_cpp": _CHAT,
    "vllm": _CHAT,
    "responses": frozenset({NATIVE}),
    "anthropic": frozenset({"anthropic"}),
    "gemini": frozenset({"gemini"}),
}
"""The kinds whose requests an upstream can count, by its way to count: each reads bodies of one format."""

_EMULATED: Final = "emulated"
_REFUSED: Final = "refused"
_OPENED: Final = "opened"
_TOOL_TYPE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}(:([A-Za-z0-9_.-]{1,64}|\*))?")
_OPTION: Final = re.compile(rf"{NAME.pattern}|{re.escape(ANY)}")
_KEY: Final = re.compile(r"[!-~]{1,4096}")

TWO_KEYS: Final = "Either name the variable that holds the key, or store the key itself: not both."
ANOTHER_SERVER: Final = (
    "The stored key was meant for another server: enter the key for this one, or remove it."
)
UNSENDABLE_KEY: Final = "This is no key: one has 1 to 4096 printable ASCII characters, and no spaces."


def is_sendable(key: str) -> bool:
    """Whether a key can be sent: in a header, as every vendor wants it."""
    return _KEY.fullmatch(key) is not None


def faults_of(fields: Mapping[str, Any], features: Sequence[str]) -> dict[str, str]:
    """What is wrong with a row, a sentence for each field; `features` are the native ones that there are."""
    written = {
        "native_features": _fault_of_features(fields["native_features"], features),
        "passthrough_tool_types": _fault(
            fields["passthrough_tool_types"],
            _TOOL_TYPE,
            "is no type of tools: write web_search, acme:search, or acme:* for all of a vendor's",
        ),
        "allowed_options": _fault(
            fields["allowed_options"],
            _OPTION,
            "is no name of a field: write top_k, or * for any",
        ),
        "default_options": fault_of_defaults(fields["default_options"]),
    }
    faults = {field: fault for field, fault in written.items() if fault}
    for field in ("native_features", "passthrough_tool_types"):
        if fields[field] and fields["kind"] != NATIVE and field not in faults:
            faults[field] = f"Only a backend of the kind '{NATIVE}' has these: leave it empty."
    if fields["thinking_tags"] == _OPENED and fields["kind"] not in _CHAT:
        faults["thinking_tags"] = "Only a Chat Completions backend leaves its reasoning in the text."
    counted = _COUNTED_BY.get(fields["token_counting"])
    if counted is not None and fields["kind"] not in counted:
        kinds = " and ".join(f"'{kind}'" for kind in sorted(counted))
        faults["token_counting"] = f"So count backends of the kind {kinds} alone; 'local' counts for any."
    if fields["tools"] == _EMULATED and fields["structured_output"] == _REFUSED:
        faults["tools"] = "Tools are emulated by structured output: that must be sent, then."
    if fields["api_key_env"] and fields["sealed_key"]:
        faults["api_key_env"] = TWO_KEYS
    return faults


def each_once(entries: Iterable[str]) -> list[str]:
    """The entries without blanks around them, each once, in their order."""
    return list(dict.fromkeys(entry.strip() for entry in entries if entry.strip()))


def _fault_of_features(value: Any, features: Sequence[str]) -> str:
    pattern = re.compile("|".join(map(re.escape, features)))
    return _fault(
        value, pattern, f"is nothing that a backend may have of its own; there are: {', '.join(features)}"
    )


def _fault(value: Any, pattern: re.Pattern[str], what: str) -> str:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        return "This must be a list of texts."
    if len(value) > MOST_ENTRIES:
        return f"There are at most {MOST_ENTRIES} entries."
    wrong = next((entry for entry in value if not pattern.fullmatch(entry)), None)
    return "" if wrong is None else f"'{wrong[:64]}' {what}."
