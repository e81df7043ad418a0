"""What `add_backend` is told of a backend besides where it is: how it is spoken to, and its key."""

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from getpass import getpass
from typing import Any, Final

from django.core.management.base import CommandError

from responses_api.models.backend import (
    FILES,
    MEDIA_URLS,
    NATIVE_FEATURES,
    REASONING,
    STRUCTURED_OUTPUT,
    THINKING_TAGS,
    TOOLS,
)
from responses_api.models.backend_rules import UNSENDABLE_KEY, each_once, is_sendable
from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.reading import read_json

_LISTS: Final = ("native_features", "passthrough_tool_types", "allowed_options")
_CHOICES: Final = ("files", "media_urls", "structured_output", "tools", "reasoning", "thinking_tags")
_NONE: Final = "; '' for none"

_FILES_HELP = "what becomes of a file: sent (the default), or refused with 400"
_MEDIA_URLS_HELP = (
    "what becomes of the address of an image, a file or a video: sent (the default; the backend fetches what is there, "
    "by its own means), fetched (by the workers, where they may; the backend gets the content) or refused with 400. A "
    "server of your own that fetches reaches whatever is near it: rather have it fetched"
)
_FORMS_HELP = (
    "what becomes of a form that a request wants its answer to have: sent (the default), or refused with 400, for "
    "servers that hold no answer to one"
)
_TOOLS_HELP = (
    "how the models call functions: native (the default), or emulated for models that know no tools on a server that "
    "can hold an answer to a JSON Schema: they read what the functions do, and answer with a call or in words"
)
_REASONING_HELP = (
    "how much of the models' reasoning clients may see: raw (the default; all that the backend tells), summary (its "
    "summaries alone) or none"
)
_TAGS_HELP = (
    "where the reasoning begins that a Chat Completions server leaves in the text: told (the default), at a <think> at "
    "the beginning of an answer; opened, with the answer, because the model's template has opened it"
)
_FEATURES_HELP = (
    f"what a backend of the kind responses has of its own, and is to be used, with commas between: "
    f"{', '.join(name for name, _ in NATIVE_FEATURES)}{_NONE}"
)
_TYPES_HELP = (
    "types of tools that a backend of the kind responses runs or knows by itself, with commas between: "
    f"web_search,acme:*{_NONE}"
)
_OPTIONS_HELP = (
    "fields of its own that requests may set by antiphon:backend_options, with commas between: top_k,min_p; * is any"
    f"{_NONE}"
)
_DEFAULTS_HELP = (
    "a field of its own that every call for an answer carries, unless the request sets it: top_k=40, stop='\"END\"'; "
    "may be repeated. Those that are given are all that it has"
    f"{_NONE}"
)
_STDIN_HELP = (
    "read the key from standard input, and store it with the backend, encrypted. It stays when the command is run "
    "again for the same server"
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--files", choices=[name for name, _ in FILES], help=_FILES_HELP)
    parser.add_argument("--media-urls", choices=[name for name, _ in MEDIA_URLS], help=_MEDIA_URLS_HELP)
    parser.add_argument(
        "--structured-output", choices=[name for name, _ in STRUCTURED_OUTPUT], help=_FORMS_HELP
    )
    parser.add_argument("--tools", choices=[name for name, _ in TOOLS], help=_TOOLS_HELP)
    parser.add_argument("--reasoning", choices=[name for name, _ in REASONING], help=_REASONING_HELP)
    parser.add_argument("--thinking-tags", choices=[name for name, _ in THINKING_TAGS], help=_TAGS_HELP)
    parser.add_argument("--native-features", type=_entries, metavar="NAME,…", help=_FEATURES_HELP)
    parser.add_argument("--passthrough-tool-types", type=_entries, metavar="TYPE,…", help=_TYPES_HELP)
    parser.add_argument("--allowed-options", type=_entries, metavar="NAME,…", help=_OPTIONS_HELP)
    parser.add_argument(
        "--default-option", action="append", type=_default, metavar="NAME=JSON", help=_DEFAULTS_HELP
    )
    keys = parser.add_mutually_exclusive_group()
    keys.add_argument(
        "--api-key-env",
        default="",
        metavar="VAR",
        help="the workers' variable with the key; it replaces a stored key",
    )
    keys.add_argument("--api-key-stdin", action="store_true", help=_STDIN_HELP)
    keys.add_argument("--remove-api-key", action="store_true", help="send the backend no key any more")


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a backend that were given; the others stay as they are."""
    fields = {name: options[name] for name in (*_CHOICES, *_LISTS) if options[name] is not None}
    if options["default_option"] is not None:
        fields["default_options"] = _each_named_once(options["default_option"])
    variable, is_stored = options["api_key_env"], options["api_key_stdin"]
    if variable or is_stored or options["remove_api_key"]:
        fields["api_key_env"] = variable
    if variable or options["remove_api_key"]:
        fields["sealed_key"] = ""
    return fields


def read_key() -> str:
    """The key from standard input; a person is asked for it, and it is not shown. Raises `CommandError`."""
    key = (getpass("API key: ") if sys.stdin.isatty() else sys.stdin.read()).strip()
    if not is_sendable(key):
        raise CommandError(f"Standard input: {UNSENDABLE_KEY}")
    return key


def _entries(text: str) -> list[str]:
    return each_once(text.split(","))


def _default(text: str) -> Json:
    """One default option; none for an empty text."""
    if not text:
        return {}
    name, is_told, value = text.partition("=")
    if not is_told:
        raise ArgumentTypeError(f"{text[:64]!r} is not NAME=JSON: write top_k=40")
    try:
        return {name: read_json(value.encode(), "The value")}
    except (ProtocolError, UnicodeEncodeError) as error:
        raise ArgumentTypeError(f"{text[:64]!r} is not NAME=JSON: {error}") from None


def _each_named_once(told: list[Json]) -> Json:
    """The default options together. Raises `CommandError`."""
    names = [name for option in told for name in option]
    for name in names:
        if names.count(name) > 1:
            raise CommandError(f"--default-option: {name[:64]!r} is told more than once.")
    return {name: value for option in told for name, value in option.items()}
