"""Text that others wrote, made fit to be stored, sent and quoted.

PostgreSQL's `jsonb` has no NUL, UTF-8 has no lone surrogates, and a message has no room for a name of any length.
"""

from typing import Any

REPLACEMENT = "\ufffd"
QUOTE_LIMIT = 64


def safe_text(text: str) -> str:
    """The text as it can be stored and sent: NUL and lone surrogates become U+FFFD, a surrogate pair becomes
    the character that it means.
    """
    text = text.replace("\x00", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def safe_json(value: Any) -> Any:
    """Plain JSON with each of its texts, the names of fields included, as `safe_text` makes it."""
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, dict):
        return {safe_text(name): safe_json(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [safe_json(entry) for entry in value]
    return value


def quoted(text: str) -> str:
    """A name as a message or a path shows it: printable, at most 64 characters."""
    shown = text if len(text) <= QUOTE_LIMIT else text[: QUOTE_LIMIT - 1] + "…"
    return shown if shown.isprintable() else "".join(c if c.isprintable() else REPLACEMENT for c in shown)
